package io.rdmaraw.tcp.segment;

/** The connection that an output segment belongs to, as far as segments know it. */
public interface SegmentOwner {
    /** Returns what the user of the core has attached to the connection; null when there is nothing. */
    Object attachment();
}
