package io.rdmaraw.tcp.stack;

import io.rdmaraw.device.QueueEvent;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.tcp.TcpListener;

/** The server channel of a listening port, as the stacks of its loops see it. Any thread. */
public interface ConnectionAcceptor {
    /** Takes a place in the queue of connections that wait to be accepted, if there is one. */
    boolean mayAccept();

    /** Takes a connection that has a place in the queue. Called on the connection's loop. */
    void accepted(TcpTransport transport);

    /** Returns how many connections may be half open on each loop. */
    int backlog();

    /** Hands the server's settings to the listener of a loop. Called on that loop. */
    void applyOptions(TcpListener listener);

    /** Tells whether other servers may share the port ({@code SO_REUSEPORT}). */
    boolean isReusePort();

    /** Something happened to the device of a loop that serves the port. Called on that loop. */
    void queueEvent(QueueEvent event);

    /** The device brings this: the kernel's socket of the port must not answer what of it reaches the kernel. */
    void keepFromKernel(TcpNetwork.Steered steered);
}
