package io.rdmaraw.verbs;

/**
 * The name of a device as a user writes it. The form of the name selects the provider:
 * <ul>
 * <li>{@code soft:xdp:eth0}, {@code soft:packet:eth0}: softverbs on a network interface, with AF_XDP or
 *     AF_PACKET
 * <li>{@code soft:loop}, {@code soft:loop:NAME}: a softverbs device in memory
 * <li>any other name: an RDMA device of rdma-core ({@code mlx5_0}), or the network interface of one
 * </ul>
 */
public record DeviceName(String text) {
    /**
     * The loopback device that serves the IP addresses of the host. Loopback devices with a name serve no host
     * address.
     */
    public static final String HOST_LOOPBACK = "soft:loop";

    /** The prefix of the names of softverbs devices. */
    public static final String SOFT_PREFIX = "soft:";

    /** Returns whether softverbs drives the device. */
    public boolean isSoftware() {
        return text.startsWith(SOFT_PREFIX);
    }

    /** Returns whether this is an in-memory device of softverbs. Its frames never leave the process. */
    public boolean isLoopback() {
        return text.equals(HOST_LOOPBACK) || text.startsWith(HOST_LOOPBACK + ':');
    }

    /** Returns the name that the provider uses: {@code xdp:eth0} for {@code soft:xdp:eth0}. */
    public String providerName() {
        return isSoftware() ? text.substring(SOFT_PREFIX.length()) : text;
    }

    /** Returns the network interface in the name of a softverbs device. Returns other names unchanged. */
    public String interfaceName() {
        return isSoftware() ? text.substring(text.lastIndexOf(':') + 1) : text;
    }

    @Override
    public String toString() {
        return text;
    }
}
