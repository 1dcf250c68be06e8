package io.rdmaraw.tcp.segment;

/**
 * The connection that an output segment belongs to. The only implementation is {@code TcpConnection}; this package must
 * not depend on it, so {@link Segment} refers to this interface.
 */
public interface SegmentOwner {
    /**
     * Returns the object that the user of the engine has attached to the connection, or null. The sender of the segment
     * finds its own state of the connection by this object.
     */
    Object attachment();
}
