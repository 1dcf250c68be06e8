package io.rdmaraw.host.loopback;

import io.rdmaraw.host.PortTable;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.socket.HostInterfaces;
import io.rdmaraw.verbs.DeviceName;

import java.net.SocketException;
import java.security.SecureRandom;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The host behind a loopback device. It has the addresses {@code 127.0.0.0/8} and {@code ::1} and the ports of the
 * process. A lookup of the destination port replaces routes and neighbours. Each port has a separate MAC address, so
 * that several ports can share a number without sharing a queue.
 *
 * <p>The default loopback device coexists with the kernel's loopback interface and so also has the addresses of this
 * computer. A named one ({@code soft:loop:NAME}) is a separate host. Thread-safe.
 */
public final class LoopbackHost {
    /** Prefix of locally administered unicast addresses. */
    private static final long MAC_PREFIX = 0x0e00_0000_0000L;
    private static final Map<String, LoopbackHost> HOSTS = new ConcurrentHashMap<>();
    private static final AtomicLong MAC_COUNT = new AtomicLong();

    private final boolean kernelHost;
    private final PortTable ports = new PortTable(this::isLocal, new SecureRandom());
    private final Set<IpAddress> furtherAddresses = ConcurrentHashMap.newKeySet();

    private LoopbackHost(boolean kernelHost) {
        this.kernelHost = kernelHost;
    }

    /** Returns the host behind a loopback device. Each device name has one host in the process. */
    public static LoopbackHost of(String deviceName) {
        return HOSTS.computeIfAbsent(deviceName,
                name -> new LoopbackHost(DeviceName.HOST_LOOPBACK.equals(name)));
    }

    /** Returns whether this is the host of the process, so that the kernel has sockets on it, too. */
    public boolean isKernelHost() {
        return kernelHost;
    }

    /** Returns the ports. The id of each is the MAC address of the port. */
    public PortTable ports() {
        return ports;
    }

    /** Adds an address to the host. */
    public void addAddress(IpAddress address) {
        furtherAddresses.add(address);
    }

    /** Returns whether packets to an address stay on this host. */
    public boolean isLocal(IpAddress address) {
        return address.isLoopback() || kernelHost && isKernelAddress(address) || furtherAddresses.contains(address);
    }

    private static boolean isKernelAddress(IpAddress address) {
        try {
            return HostInterfaces.withAddress(address.toInetAddress()) != null;
        } catch (SocketException e) {
            return false;
        }
    }

    /** Returns the source address for packets to a local destination. */
    public IpAddress sourceFor(IpAddress destination) {
        if (!destination.isLoopback()) {
            return destination;
        }
        return destination.isIpv4() ? IpAddress.LOOPBACK_IPV4 : IpAddress.LOOPBACK_IPV6;
    }

    /** Returns a MAC address that no other port of the process has. */
    public static long newMac() {
        return MAC_PREFIX | MAC_COUNT.incrementAndGet();
    }
}
