package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.testsuite.verbs.XdpMode;

/** The ways in which softverbs drives a network interface, as docs/deploying.md has them. */
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

    /** The device's name on an interface; a device of that name that this process opens next is driven this way. */
    public String on(String networkInterface) {
        XdpMode.set(xdpMode);
        return "soft:" + provider + ':' + networkInterface;
    }

    /** Returns the environment variable, as {@code NAME=value}, by which another process drives them this way. */
    String environment() {
        return "SOFTVERBS_XDP_MODE=" + xdpMode;
    }

    /** Lets devices be opened as users have them by default again. */
    public static void restore() {
        XdpMode.set("");
    }
}
