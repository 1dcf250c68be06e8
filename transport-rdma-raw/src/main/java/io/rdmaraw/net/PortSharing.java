package io.rdmaraw.net;

/**
 * Whether other endpoints may bind the same port, as {@code SO_REUSEADDR} and {@code SO_REUSEPORT} of Linux say.
 *
 * @param reuseAddress all that share it have this: the one bound last receives
 * @param reusePort all that share it have this: each flow goes to one of them
 */
public record PortSharing(boolean reuseAddress, boolean reusePort) {
    /** The port is the endpoint's alone. */
    public static final PortSharing NONE = new PortSharing(false, false);

    public boolean agreesWith(PortSharing other) {
        return reuseAddress && other.reuseAddress || reusePort && other.reusePort;
    }
}
