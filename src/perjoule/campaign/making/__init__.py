"""Campaigns that perjoule writes itself: simulated, a paper's study, a calibration, and parts without one."""
