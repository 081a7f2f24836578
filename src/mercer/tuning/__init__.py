"""Kernel parameters and alpha by gradient, and committees of tuned members."""
