"""What holds a host while we use it: its keeper, who hears all of them, and what is made of what they
send.
"""
