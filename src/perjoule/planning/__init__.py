"""What to buy: hardware, counts, file systems and redundancy that meet a need, with energy, money and carbon."""
