package io.rdmaraw.net;

/**
 * Whether other endpoints may bind the same port; corresponds to {@code SO_REUSEADDR} and {@code SO_REUSEPORT}
 * of Linux.
 *
 * @param reuseAddress endpoints that all have this option may share a port; the one bound last receives
 * @param reusePort    endpoints that all have this option may share a port; each flow goes to one of them
 */
public record PortSharing(boolean reuseAddress, boolean reusePort) {
    /** The endpoint does not share its port. */
    public static final PortSharing NONE = new PortSharing(false, false);

    public boolean agreesWith(PortSharing other) {
        return reuseAddress && other.reuseAddress || reusePort && other.reusePort;
    }
}
