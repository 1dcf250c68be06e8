package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.testsuite.verbs.XdpMode;

/** The modes in which softverbs drives a network interface, as described in docs/guide/deploying.md. */
public enum SoftDevice {
    PACKET("packet", ""),
    XDP_GENERIC("xdp", "generic"),
    XDP_NATIVE("xdp", "native"),
    XDP_TAP("xdp", "tap");

    private final String provider;
    private final String xdpMode;

    SoftDevice(String provider, String xdpMode) {
        this.provider = provider;
        this.xdpMode = xdpMode;
    }

    /**
     * Returns the name of the device on an interface. The next device of that name that this process opens uses
     * this mode.
     */
    public String on(String networkInterface) {
        XdpMode.set(xdpMode);
        return "soft:" + provider + ':' + networkInterface;
    }

    /** Returns the environment variable, as {@code NAME=value}, that selects this mode in another process. */
    String environment() {
        return "SOFTVERBS_XDP_MODE=" + xdpMode;
    }

    /** Resets the mode of devices opened from now on to the default. */
    public static void restore() {
        XdpMode.set("");
    }
}
