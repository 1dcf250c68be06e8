package io.rdmaraw.host;

/**
 * What the entries of one bind in a {@link PortTable} have in common: whether its socket listens, or only connections
 * keep the port. Another may listen on such a port beside those of an earlier listener, as on Linux with
 * {@code SO_REUSEADDR}. Thread-safe.
 */
public final class PortUse {
    private final boolean ofListener;
    private volatile boolean connectionsOnly;

    /** @param ofListener whether it was taken for TCP to listen on */
    PortUse(boolean ofListener) {
        this.ofListener = ofListener;
    }

    /** Says whether the listener listens, as at first, or only its connections keep the port. */
    public void setListening(boolean listening) {
        connectionsOnly = !listening;
    }

    boolean isForConnectionsOnly() {
        return connectionsOnly;
    }

    /** Tells whether another may bind the port beside what is left of this one. */
    boolean admits(PortUse next) {
        return connectionsOnly && next.ofListener;
    }
}
