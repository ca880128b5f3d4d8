"""What several packages ask of a computer: programs, mounts, disks, mirrors, environment, locks, removal,
outside input.
"""
