package io.rdmaraw.tools.demo.sockets;

import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** The two userspace hosts of the demo. Their addresses are reserved for tests, or locally administered. */
enum DemoHost {
    SERVER(1, "02:72:61:77:00:11"), CLIENT(2, "02:72:61:77:00:12");

    private static final int PORT = 7;

    private final int number;
    private final String mac;

    DemoHost(int number, String mac) {
        this.number = number;
        this.mac = mac;
    }

    RdmaRawIoHandlerConfig config(String device) {
        RdmaRawIoHandlerConfig.Builder config = RdmaRawIoHandlerConfig.builder().device(device);
        for (Family family : Family.values()) {
            config.userspaceAddress(mac, family.cidrOf(number), null);
        }
        return config.build();
    }

    InetSocketAddress at(Family family) {
        return new InetSocketAddress(InetAddress.ofLiteral(family.addressOf(number)), PORT);
    }
}
