package io.rdmaraw.host;

/**
 * State shared by the entries of one bind in a {@link PortTable}: whether the socket still listens or only its
 * connections use the port. In the latter case another socket may listen on the port, as on Linux with
 * {@code SO_REUSEADDR}. Thread-safe.
 */
public final class PortUse {
    private final boolean ofListener;
    private volatile boolean connectionsOnly;

    /** @param ofListener whether the port was bound for a TCP listener */
    public PortUse(boolean ofListener) {
        this.ofListener = ofListener;
    }

    /** Sets whether the socket listens, which is the initial state, or only its connections use the port. */
    public void setListening(boolean listening) {
        connectionsOnly = !listening;
    }

    boolean isForConnectionsOnly() {
        return connectionsOnly;
    }

    /** Returns whether another listener may bind the port although this use still exists. */
    boolean admits(PortUse next) {
        return connectionsOnly && next.ofListener;
    }
}
