"""Conversations: names, turns, the offload rule, arguments."""
