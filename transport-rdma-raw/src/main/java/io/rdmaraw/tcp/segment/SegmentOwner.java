package io.rdmaraw.tcp.segment;

/** The connection that an output segment belongs to. */
public interface SegmentOwner {
    /** Returns the object that the user has attached to the connection, or null. */
    Object attachment();
}
