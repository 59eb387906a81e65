"""What requests say: which call a path means, its options, and the object in its body."""
