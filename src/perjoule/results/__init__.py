"""What results folders say together: compared, recomputed, tabulated."""
