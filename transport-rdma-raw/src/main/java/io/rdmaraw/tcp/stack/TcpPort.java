package io.rdmaraw.tcp.stack;

import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IpAddress;

/**
 * A port that is bound for a connection, or for a server and its connections, with its flow rules. It is reserved until
 * the last listener or connection on any loop has released it and TIME-WAIT has ended. If the loop ends earlier, the
 * reservation ends with it. Thread-safe.
 */
abstract class TcpPort {
    private final TcpNetwork.Binding binding;
    private int users = 1;
    private boolean hadTimeWait;
    private long timeWaitEndNanos;
    private boolean closed;

    TcpPort(TcpNetwork.Binding binding) {
        this.binding = binding;
    }

    public final TcpNetwork.Binding binding() {
        return binding;
    }

    /** Returns whether the port is bound for a connection to this peer only. */
    boolean isTowards(IpAddress peer, int peerPort) {
        return false;
    }

    /** Removes the flow rules from all loops. */
    abstract void withdraw();

    /** Adds a user. Returns false if the port has already been released. */
    final synchronized boolean retain() {
        if (closed) {
            return false;
        }
        users++;
        return true;
    }

    /** Returns the number of listeners and connections that use the port. */
    final synchronized int users() {
        return users;
    }

    /**
     * Records that a connection enters TIME-WAIT. Until its end the port remains reserved: segments that reached the
     * kernel would be answered with a reset.
     *
     * @param durationNanos duration of TIME-WAIT in the TCP engine
     */
    final synchronized void timeWaitBegins(long durationNanos) {
        timeWaitEndNanos = System.nanoTime() + durationNanos;
        hadTimeWait = true;
    }

    /**
     * Removes a user.
     *
     * @param onOrNull the stack that keeps the port for the rest of TIME-WAIT; the caller is on its loop. If null, the
     *     port is released at once.
     */
    final void release(TcpStack onOrNull) {
        long leftNanos;
        synchronized (this) {
            if (--users > 0) {
                return;
            }
            leftNanos = hadTimeWait ? timeWaitEndNanos - System.nanoTime() : 0;
        }
        if (leftNanos > 0 && onOrNull != null) {
            onOrNull.lingering().add(this, leftNanos);
        } else {
            closeIfUnused();
        }
    }

    /** Releases the port, unless it has users again. */
    final void closeIfUnused() {
        synchronized (this) {
            if (closed || users > 0) {
                return;
            }
            closed = true;
        }
        withdraw();
        binding.close();
    }
}
