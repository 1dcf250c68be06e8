package io.rdmaraw.net;

/**
 * Whether other endpoints may bind the same port, and which addresses may be bound; corresponds to
 * {@code SO_REUSEADDR}, {@code SO_REUSEPORT} and {@code IP_FREEBIND} of Linux.
 *
 * @param reuseAddress endpoints that all have this option may share a port; the one bound last receives
 * @param reusePort    endpoints that all have this option may share a port; each flow goes to one of them
 * @param freeBind     the address need not be one of this host
 */
public record PortSharing(boolean reuseAddress, boolean reusePort, boolean freeBind) {
    /** The endpoint does not share its port. */
    public static final PortSharing NONE = new PortSharing(false, false, false);

    public boolean agreesWith(PortSharing other) {
        return reuseAddress && other.reuseAddress || reusePort && other.reusePort;
    }
}
