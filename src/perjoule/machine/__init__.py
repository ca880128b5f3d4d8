"""What several rooms ask of this machine: its circumstances, mirrors, locks, what is removed, what is read from outside."""
