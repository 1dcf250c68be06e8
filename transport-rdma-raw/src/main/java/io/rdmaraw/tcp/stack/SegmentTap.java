package io.rdmaraw.tcp.stack;

import io.rdmaraw.tcp.segment.Segment;

/** Is shown every segment that a stack sends or receives. On the stack's loop. */
public interface SegmentTap {
    /** Shows a segment, or several in one; it is good for the length of this call. */
    void segment(Segment segment);
}
