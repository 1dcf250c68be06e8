package io.rdmaraw.testsuite.net;

import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The addresses of one pair: a /28 of 198.18.0.0/15, which RFC 2544 reserves for tests, and an IPv6 /64 of unique local
 * addresses (RFC 4193). They are derived from the process ID, because concurrent runs may both have ends in the host's
 * namespace.
 */
final class Subnet {
    private static final int SUBNETS = 1 << 28 - 15;
    private static final int PAIRS_PER_PROCESS = 64;

    private final int index;
    private final int number;

    private Subnet(int index, int number) {
        this.index = index;
        this.number = number;
    }

    /** Returns a subnet in which no interface of this namespace has an address. */
    static Subnet unused(int number) {
        List<String> taken = addressesHere();
        long first = ProcessHandle.current().pid() * PAIRS_PER_PROCESS + number;
        for (int i = 0; i < SUBNETS; i++) {
            Subnet subnet = new Subnet((int) ((first + i) % SUBNETS), number);
            if (!taken.contains(subnet.ipv4(1)) && !taken.contains(subnet.ipv4(2))) {
                return subnet;
            }
        }
        throw new IllegalStateException("all of 198.18.0.0/15 is in use on this host");
    }

    private static List<String> addressesHere() {
        try {
            return NetworkInterface.networkInterfaces().flatMap(NetworkInterface::inetAddresses)
                    .map(address -> address.getHostAddress()).collect(Collectors.toList());
        } catch (SocketException e) {
            throw new IllegalStateException("cannot list the addresses of this host", e);
        }
    }

    /**
     * Returns the IPv4 address of a host.
     *
     * @param host 1..14
     */
    String ipv4(int host) {
        int offset = (index << 4) + host;
        return "198." + (18 + (offset >> 16)) + '.' + (offset >> 8 & 0xff) + '.' + (offset & 0xff);
    }

    String ipv6(int host) {
        long pid = ProcessHandle.current().pid();
        return String.format("fd72:6472:%x:%x::%x", pid & 0xffff, (pid >> 16 & 0xff) << 8 | number & 0xff, host);
    }
}
