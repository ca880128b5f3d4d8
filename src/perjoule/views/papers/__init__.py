"""Papers: their claims, numbers, figures and tables, with ours beside."""
