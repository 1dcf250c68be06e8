package io.rdmaraw.tcp.stack.receive;

import io.rdmaraw.tcp.segment.Segment;

/** Observes every segment that a stack sends or receives. Called on the stack's loop. */
public interface SegmentObserver {
    /**
     * Observes a segment, which may consist of several merged ones. The segment and its payload are valid only during
     * this call. To use the payload later, copy it or retain each of its buffers.
     */
    void onSegment(Segment segment);
}
