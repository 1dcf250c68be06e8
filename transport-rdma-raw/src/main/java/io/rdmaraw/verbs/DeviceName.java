package io.rdmaraw.verbs;

/**
 * The name of a device, which says what kind it is: {@code soft:loop}, {@code soft:loop:NAME},
 * {@code soft:xdp:NETDEV} and {@code soft:packet:NETDEV} are devices of softverbs; any other is an RDMA device of
 * rdma-core or the network interface of one.
 */
public record DeviceName(String text) {
    /** The loopback device that carries the addresses of the host that the process runs on. */
    public static final String HOST_LOOPBACK = "soft:loop";

    static final String SOFT_PREFIX = "soft:";

    /** Returns whether softverbs drives the device. */
    public boolean isSoftware() {
        return text.startsWith(SOFT_PREFIX);
    }

    /** Returns whether it is a device of softverbs whose frames never leave the process. */
    public boolean isLoopback() {
        return text.equals(HOST_LOOPBACK) || text.startsWith(HOST_LOOPBACK + ':');
    }

    /** Returns the name by which the provider knows the device: {@code xdp:eth0} for {@code soft:xdp:eth0}. */
    public String inProvider() {
        return isSoftware() ? text.substring(SOFT_PREFIX.length()) : text;
    }

    /** Returns the network interface that a device of softverbs names; other names are returned as they are. */
    public String interfaceName() {
        return isSoftware() ? text.substring(text.lastIndexOf(':') + 1) : text;
    }

    @Override
    public String toString() {
        return text;
    }
}
