"""The clocks of a campaign: when it was set between trials, and how those of meters run beside ours."""
