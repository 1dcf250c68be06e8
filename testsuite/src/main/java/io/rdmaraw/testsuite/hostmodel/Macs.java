package io.rdmaraw.testsuite.hostmodel;

import java.net.InetAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The MAC addresses of the simulated peers. Each is derived from a link and an IP address. */
final class Macs {
    private static final Map<Long, String> NAMES = new ConcurrentHashMap<>();

    private Macs() {
    }

    /** Returns the MAC address of a peer. */
    static long of(int link, InetAddress peer) {
        byte[] bytes = peer.getAddress();
        long low = 0;
        for (int i = 0; i < 4; i++) {
            int at = bytes.length - 4 + i;
            low = low << 8 | (bytes.length == 4 ? bytes[at] : bytes[at] ^ bytes[at - 8]) & 0xff;
        }
        long mac = (bytes.length == 4 ? 0x0600L : 0x0a00L) + link << 32 | low;
        NAMES.putIfAbsent(mac, peer.getHostAddress().replaceAll("%.*", "") + "%up" + link);
        return mac;
    }

    /** Returns the MAC address of a host's link. */
    static long ofHost(int link) {
        return 0x0200_0000_0001L + ((long) link << 8);
    }

    /** Returns the link with this MAC address of a host, or -1. */
    static int linkOf(long mac) {
        return (mac & ~0xff00L) == 0x0200_0000_0001L ? (int) (mac >> 8 & 0xff) : -1;
    }

    /** Returns the name of the peer with this MAC address, or the address itself if it is unknown. */
    static String name(long mac) {
        return NAMES.getOrDefault(mac, text(mac));
    }

    static String text(long mac) {
        StringBuilder text = new StringBuilder();
        for (int shift = 40; shift >= 0; shift -= 8) {
            text.append(text.isEmpty() ? "" : ":").append(String.format("%02x", mac >> shift & 0xff));
        }
        return text.toString();
    }
}
