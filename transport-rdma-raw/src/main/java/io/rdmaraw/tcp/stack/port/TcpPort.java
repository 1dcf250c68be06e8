package io.rdmaraw.tcp.stack.port;

import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IpAddress;

/**
 * A port that is bound for a connection, or for a server and its connections, with its flow rules. It is reserved until
 * the last listener or connection on any loop has released it and TIME-WAIT has ended. If the loop ends earlier, the
 * reservation ends with it. Thread-safe.
 */
public abstract class TcpPort {
    private final TcpNetwork.Binding binding;
    private int userCount = 1;
    private boolean hadTimeWait;
    private long timeWaitEndNanos;
    private boolean closed;

    public TcpPort(TcpNetwork.Binding binding) {
        this.binding = binding;
    }

    public final TcpNetwork.Binding binding() {
        return binding;
    }

    /** Returns whether the port is bound for a connection to this peer only. */
    public boolean isForPeer(IpAddress peer, int peerPort) {
        return false;
    }

    /** Removes the flow rules from all loops. */
    protected abstract void removeRules();

    /** Adds a user. Returns false if the port has already been released. */
    public final synchronized boolean retain() {
        if (closed) {
            return false;
        }
        userCount++;
        return true;
    }

    /** Returns the number of listeners and connections that use the port. */
    public final synchronized int userCount() {
        return userCount;
    }

    /**
     * Records that a connection enters TIME-WAIT. Until its end the port remains reserved: segments that reached the
     * kernel would be answered with a reset.
     *
     * @param durationNanos duration of TIME-WAIT in the TCP engine
     */
    public final synchronized void recordTimeWait(long durationNanos) {
        // Groups that share the port may have different durations.
        long endNanos = System.nanoTime() + durationNanos;
        timeWaitEndNanos = hadTimeWait && timeWaitEndNanos - endNanos > 0 ? timeWaitEndNanos : endNanos;
        hadTimeWait = true;
    }

    /**
     * Removes a user.
     *
     * @param timeWaitPortsOrNull keeps the port for the rest of TIME-WAIT; the caller is on its loop. If null, the port
     *     is released at once.
     */
    public final void release(TimeWaitPorts timeWaitPortsOrNull) {
        long remainingNanos;
        synchronized (this) {
            if (--userCount > 0) {
                return;
            }
            remainingNanos = hadTimeWait ? timeWaitEndNanos - System.nanoTime() : 0;
        }
        if (remainingNanos > 0 && timeWaitPortsOrNull != null) {
            timeWaitPortsOrNull.add(this, remainingNanos);
        } else {
            closeIfUnused();
        }
    }

    /** Releases the port, unless it has users again. */
    final void closeIfUnused() {
        synchronized (this) {
            if (closed || userCount > 0) {
                return;
            }
            closed = true;
        }
        removeRules();
        binding.close();
    }
}
