package io.rdmaraw.tcp.stack;

import io.rdmaraw.device.QueueEvent;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.tcp.TcpListener;

/** The server channel of a listening port, as seen by the stacks of its loops. Thread-safe. */
public interface ConnectionAcceptor {
    /** Returns whether the accept queue has a free place. */
    boolean hasAcceptQueueRoom();

    /** Reserves a place in the accept queue. Returns false if the queue is full. */
    boolean reserveAcceptPlace();

    /** Adds a connection to the accept queue; its place has been reserved. Called on the connection's loop. */
    void accepted(TcpTransport transport);

    /** Returns the maximum number of half-open connections for each loop. */
    int backlog();

    /** Applies the server's options to the listener of a loop. Called on that loop. */
    void applyOptions(TcpListener listener);

    /** Returns whether other servers may bind the same port ({@code SO_REUSEPORT}). */
    boolean isReusePort();

    /** Reports an event of the device that a loop of the port uses. Called on that loop. */
    void onQueueEvent(QueueEvent event);

    /**
     * Reports the addresses that the device receives segments for. The kernel socket of the port must not answer such
     * segments, even if the kernel receives a copy.
     */
    void filterKernelSocket(TcpNetwork.SteeredAddresses steered);
}
