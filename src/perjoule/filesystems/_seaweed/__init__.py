"""SeaweedFS, whether its clients use folders or buckets."""
