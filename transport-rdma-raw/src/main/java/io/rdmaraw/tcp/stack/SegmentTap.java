package io.rdmaraw.tcp.stack;

import io.rdmaraw.tcp.segment.Segment;

/** Is shown every segment that a stack sends or receives. On the stack's loop. */
public interface SegmentTap {
    /**
     * Shows a segment, or several in one. It and its payload are good for the length of this call: what is needed
     * longer has to be copied, or the buffers retained one by one.
     */
    void segment(Segment segment);
}
