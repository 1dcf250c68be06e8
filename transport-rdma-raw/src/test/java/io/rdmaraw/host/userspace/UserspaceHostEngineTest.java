package io.rdmaraw.host.userspace;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.Route;
import io.rdmaraw.wire.ArpPacket;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.wire.NeighborDiscovery;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Userspace hosts on one link, in virtual time. */
class UserspaceHostEngineTest {
    private static final long MAC_A = 0x02_00_00_00_00_0aL;
    private static final long MAC_B = 0x02_00_00_00_00_0bL;
    private static final IpAddress IP_A = IpAddress.parse("10.0.0.1");
    private static final IpAddress IP_B = IpAddress.parse("10.0.0.2");
    private static final IpAddress IP6_A = IpAddress.parse("fd00::1");
    private static final IpAddress IP6_B = IpAddress.parse("fd00::2");
    private static final long ALL_NODES_MAC = 0x3333_0000_0001L;
    private static final int FRAME_BYTES = 2048;

    private final Link link = new Link();
    private final Random random = new Random(42);

    @AfterEach
    void free() {
        link.memory.forEach(Libc::free);
    }

    /** Delivers frames between hosts immediately and records them. */
    private static final class Link {
        final List<Host> hosts = new ArrayList<>();
        final List<byte[]> sent = new ArrayList<>();
        final List<Long> memory = new ArrayList<>();
        final ArrayDeque<byte[]> travelling = new ArrayDeque<>();
        /** Starts below zero and passes zero, which must have no special meaning. */
        long nowNanos = -TimeUnit.SECONDS.toNanos(3);
        boolean cut;

        /** Advances the time and runs the due actions of all hosts. */
        void pass(double seconds) {
            long end = nowNanos + (long) (seconds * 1e9);
            deliver();
            while (true) {
                Host next = null;
                for (Host host : hosts) {
                    long due = host.stack.deadlineNanos();
                    if (due != Long.MAX_VALUE && due - end <= 0
                            && (next == null || due - next.stack.deadlineNanos() < 0)) {
                        next = host;
                    }
                }
                if (next == null) {
                    nowNanos = end;
                    return;
                }
                nowNanos = nowNanos - next.stack.deadlineNanos() > 0 ? nowNanos : next.stack.deadlineNanos();
                next.stack.poll(nowNanos);
                deliver();
            }
        }

        void deliver() {
            for (byte[] frame = travelling.poll(); frame != null; frame = travelling.poll()) {
                for (Host host : hosts) {
                    host.receive(frame);
                }
            }
            hosts.forEach(Host::look);
        }

        long count(ParseVerdict verdict) {
            return sent.stream().filter(frame -> new Host.Reader(frame).verdict == verdict).count();
        }
    }

    private final class Host implements ControlOutput {
        final UserspaceHostEngine stack;
        final long mac;
        NetworkSnapshot snapshot;
        private final long frame = Libc.allocateZeroed(FRAME_BYTES);

        Host(long mac, boolean detect, List<IpAddress> gateways, String... addresses) {
            this.mac = mac;
            link.memory.add(frame);
            List<UserspaceAddress> own = new ArrayList<>();
            for (String address : addresses) {
                own.add(UserspaceAddress.parse(address));
            }
            stack = new UserspaceHostEngine(new UserspaceHostConfig(mac, own, gateways, detect), "own0", 1500, this,
                    random);
            link.hosts.add(this);
            stack.start(link.nowNanos);
            look();
        }

        /** Parses a copy of the frame in memory that ends with it. */
        static final class Reader {
            final ParsedFrame parsed = new ParsedFrame();
            final ParseVerdict verdict;

            Reader(byte[] bytes) {
                long copy = Libc.allocateZeroed(bytes.length);
                for (int i = 0; i < bytes.length; i++) {
                    NativeMemory.putByte(copy + i, bytes[i]);
                }
                verdict = new FrameParser(new ParseCounters()).parse(copy, bytes.length, false, parsed);
            }
        }

        boolean receive(byte[] bytes) {
            long destination = 0;
            for (int i = 0; i < 6; i++) {
                destination = destination << 8 | bytes[i] & 0xff;
            }
            if (destination != mac && !EthernetHeader.isGroup(destination)) {
                return true;
            }
            Reader reader = new Reader(bytes);
            assertTrue(reader.verdict.isAccepted(), "a frame that is not sound: " + reader.verdict);
            boolean taken = stack.receive(reader.parsed, reader.verdict, link.nowNanos);
            look();
            return taken;
        }

        void look() {
            NetworkSnapshot changed = stack.snapshotIfChanged();
            if (changed != null) {
                snapshot = changed;
            }
        }

        @Override
        public long allocate() {
            NativeMemory.fill(frame, FRAME_BYTES, (byte) 0);
            return frame;
        }

        @Override
        public void send(int lengthBytes) {
            byte[] bytes = new byte[Math.max(lengthBytes, EthernetHeader.MIN_FRAME_BYTES)];
            for (int i = 0; i < lengthBytes; i++) {
                bytes[i] = NativeMemory.getByte(frame + i);
            }
            link.sent.add(bytes);
            if (!link.cut) {
                link.travelling.add(bytes);
            }
        }

        Neighbor neighbor(IpAddress address) {
            look();
            return snapshot.neighbor(UserspaceHostEngine.LINK_INDEX, address);
        }

        void solicit(IpAddress hop) {
            stack.solicit(hop, link.nowNanos);
            link.deliver();
        }
    }

    private Host host(long mac, String... addresses) {
        return new Host(mac, false, List.of(), addresses);
    }

    private static boolean usable(Host host, IpAddress address) {
        host.look();
        return host.snapshot.isLocal(address);
    }

    @Test
    void anIpv4AddressIsProbedThreeTimesAndAnnouncedTwice() {
        Host a = new Host(MAC_A, true, List.of(), "10.0.0.1/24");
        link.pass(1 + 2 + 2 - 0.1);
        a.receive(arp(ArpPacket.REQUEST, MAC_B, IP_B, IP_A));
        link.deliver();
        assertEquals(0, a.stack.counters().arpAnswered, "a tentative address is not answered for");
        link.pass(10);
        List<byte[]> arps = link.sent;
        assertEquals(5, arps.size());
        for (int i = 0; i < 5; i++) {
            Host.Reader reader = new Host.Reader(arps.get(i));
            long arp = reader.parsed.networkHeaderAddress();
            assertEquals(i < 3 ? 0 : IP_A.ipv4(), ArpPacket.senderIp(arp), "three probes, then two announcements");
            assertEquals(IP_A.ipv4(), ArpPacket.targetIp(arp));
        }
        assertTrue(usable(a, IP_A));
        assertEquals(0, a.stack.counters().addressConflicts);
    }

    @Test
    void addressInUseIsGivenUp() {
        Host b = host(MAC_B, "10.0.0.1/24", "fd00::1/64");
        Host a = new Host(MAC_A, true, List.of(), "10.0.0.1/24", "fd00::1/64");
        link.pass(10);
        assertFalse(usable(a, IP_A));
        assertFalse(usable(a, IP6_A));
        assertTrue(a.stack.counters().addressConflicts >= 2);
        assertTrue(usable(b, IP_A), "the one who had it keeps it");
    }

    @Test
    void simultaneousProbesDoNotBothTakeAddress() {
        Host a = new Host(MAC_A, true, List.of(), "10.0.0.1/24");
        Host b = new Host(MAC_B, true, List.of(), "10.0.0.1/24");
        link.pass(10);
        assertFalse(usable(a, IP_A) && usable(b, IP_A), "two hosts with one address");
    }

    @Test
    void ownAddressIsDefendedAtLimitedRate() {
        Host a = host(MAC_A, "10.0.0.1/24");
        link.pass(5);
        int before = link.sent.size();
        for (int i = 0; i < 100; i++) {
            a.receive(arp(ArpPacket.REPLY, MAC_B, IP_A, IP_B));
            link.pass(0.11);
        }
        assertEquals(2, link.sent.size() - before, "one announcement in ten seconds, over eleven");
        assertEquals(100, a.stack.counters().addressConflicts);
    }

    @Test
    void neighborsAreFoundConfirmedAndLost() {
        Host a = host(MAC_A, "10.0.0.1/24", "fd00::1/64");
        Host b = host(MAC_B, "10.0.0.2/24", "fd00::2/64");
        link.pass(3);
        for (IpAddress peer : new IpAddress[] {IP_B, IP6_B}) {
            a.solicit(peer);
            assertEquals(MAC_B, a.neighbor(peer).mac());
            assertEquals(Neighbor.REACHABLE, a.neighbor(peer).state());
            assertEquals(Neighbor.STALE, b.neighbor(peer == IP_B ? IP_A : IP6_A).state(), "heard, not confirmed");
            link.pass(60);
            a.solicit(peer);
            assertEquals(Neighbor.STALE, a.neighbor(peer).state(), "used, but not confirmed for long");
            link.pass(5.5);
            assertEquals(Neighbor.REACHABLE, a.neighbor(peer).state(), "asked by itself after five seconds");
            link.pass(60);
            link.hosts.remove(b);
            a.solicit(peer);
            long before = a.stack.counters().addressRequestsSent;
            link.pass(5 + 2.9);
            assertTrue(a.neighbor(peer).isResolved(), "it is still being asked");
            link.pass(0.2);
            assertFalse(a.neighbor(peer).isResolved());
            assertEquals(3, a.stack.counters().addressRequestsSent - before);
            link.pass(1.1);
            assertNull(a.neighbor(peer));
            link.hosts.add(b);
        }
    }

    @Test
    void missingHostIsSolicitedThreeTimes() {
        Host a = host(MAC_A, "10.0.0.1/24");
        a.solicit(IP_B);
        assertEquals(Neighbor.INCOMPLETE, a.neighbor(IP_B).state());
        link.pass(2.9);
        a.solicit(IP_B);
        assertEquals(3, a.stack.counters().addressRequestsSent);
        link.pass(0.2);
        assertEquals(Neighbor.FAILED, a.neighbor(IP_B).state());
    }

    @Test
    void aNewMacAddressReplacesTheOldOne() {
        Host a = host(MAC_A, "10.0.0.1/24", "fd00::1/64");
        Host b = host(MAC_B, "10.0.0.2/24", "fd00::2/64");
        a.solicit(IP_B);
        a.solicit(IP6_B);
        link.hosts.remove(b);
        host(MAC_B + 1, "10.0.0.2/24", "fd00::2/64");
        link.deliver();
        assertEquals(MAC_B + 1, a.neighbor(IP_B).mac(), "gratuitous ARP");
        assertEquals(MAC_B + 1, a.neighbor(IP6_B).mac(), "unsolicited advertisement");
        assertEquals(Neighbor.STALE, a.neighbor(IP_B).state());
    }

    /** RFC 4861 section 7.2.5: an advertisement without the override flag does not replace a cached address. */
    @Test
    void advertisementWithoutOverrideMakesEntryStale() {
        Host a = host(MAC_A, "fd00::1/64");
        host(MAC_B, "fd00::2/64");
        a.solicit(IP6_B);
        a.receive(neighborAdvertisement(IP6_B, MAC_B + 7, 0));
        assertEquals(MAC_B, a.neighbor(IP6_B).mac());
        assertEquals(Neighbor.STALE, a.neighbor(IP6_B).state());
    }

    @Test
    void pingsAreAnswered() {
        Host a = host(MAC_A, "10.0.0.1/24", "fd00::1/64");
        for (boolean ipv4 : new boolean[] {true, false}) {
            link.sent.clear();
            a.receive(echo(ipv4, 56));
            Host.Reader reply = new Host.Reader(link.sent.getFirst());
            assertEquals(ipv4 ? ParseVerdict.ICMP : ParseVerdict.ICMPV6, reply.verdict, "checksums hold");
            long message = reply.parsed.transportHeaderAddress();
            assertEquals(ipv4 ? IcmpHeader.ECHO_REPLY : IcmpHeader.V6_ECHO_REPLY, IcmpHeader.type(message));
            assertEquals(77, NetworkOrder.getU16(message + 6));
            assertEquals(ipv4 ? IP_B : IP6_B, IpAddress.destinationOf(reply.parsed));
            for (int i = 0; i < 56; i++) {
                assertEquals((byte) i, NativeMemory.getByte(message + 8 + i));
            }
        }
        assertEquals(2, a.stack.counters().echoesAnswered);
    }

    @Test
    void routersAreLearnedAndForgotten() {
        Host a = host(MAC_A, "fd00::1/64");
        link.pass(1);
        assertTrue(link.sent.stream().map(Host.Reader::new).anyMatch(reader -> reader.verdict == ParseVerdict.ICMPV6
                && IcmpHeader.type(reader.parsed.transportHeaderAddress()) == NeighborDiscovery.ROUTER_SOLICITATION));
        IpAddress far = IpAddress.parse("2001:db8::1");
        assertNull(a.snapshot.path(far, 0));
        IpAddress router = IpAddress.parse("fe80::99");
        a.receive(routerAdvertisement(router, 1800, 1400));
        NetworkSnapshot.Path path = a.snapshot.path(far, 0);
        assertEquals(router, path.nextHop());
        assertEquals(1400, path.mtuBytes());
        assertEquals(IP6_A, path.source());
        assertEquals(MAC_B, a.neighbor(router).mac());
        assertEquals(IpAddress.parse("2001:db8:7::5"), a.snapshot.path(IpAddress.parse("2001:db8:7::5"), 0).nextHop(),
                "the prefix is on the link");
        link.pass(1801);
        a.look();
        assertNull(a.snapshot.path(far, 0));
        a.receive(routerAdvertisement(router, 1800, 1400));
        assertNotNull(a.snapshot.path(far, 0));
        a.receive(routerAdvertisement(router, 0, 1400));
        assertNull(a.snapshot.path(far, 0), "it says good-bye");
    }

    @Test
    void gatewayIsNextHopToOtherNetworks() {
        Host a = new Host(MAC_A, false, List.of(IP_B), "10.0.0.1/24");
        assertEquals(IP_B, a.snapshot.path(IpAddress.parse("192.0.2.1"), 0).nextHop());
        assertEquals(IpAddress.parse("10.0.0.77"), a.snapshot.path(IpAddress.parse("10.0.0.77"), 0).nextHop());
        assertEquals(Route.BROADCAST, a.snapshot.route(IpAddress.parse("10.0.0.255")).type());
    }

    @Test
    void aFloodOfUnknownNeighborsIsBounded() {
        Host a = host(MAC_A, "10.0.0.1/8");
        link.cut = true;
        for (int i = 0; i < 5000; i++) {
            a.stack.solicit(IpAddress.ipv4(0x0a010000 + i), link.nowNanos);
        }
        assertEquals(1024, a.stack.counters().addressRequestsSent);
        link.pass(5);
        a.solicit(IP_B);
        assertNotNull(a.neighbor(IP_B), "and passes");
    }

    private static byte[] bytes(long frame, int lengthBytes) {
        byte[] bytes = new byte[lengthBytes];
        for (int i = 0; i < lengthBytes; i++) {
            bytes[i] = NativeMemory.getByte(frame + i);
        }
        Libc.free(frame);
        return bytes;
    }

    private static byte[] arp(int operation, long mac, IpAddress sender, IpAddress target) {
        long frame = Libc.allocateZeroed(64);
        EthernetHeader.write(frame, EthernetHeader.BROADCAST, mac, EtherType.ARP);
        ArpPacket.write(frame + 14, operation, mac, sender.ipv4(), 0, target.ipv4());
        return bytes(frame, 60);
    }

    private static byte[] icmpv6(long destinationMac, IpAddress source, IpAddress destination, int hopLimit,
                                 long message, int lengthBytes) {
        long frame = Libc.allocateZeroed(FRAME_BYTES);
        EthernetHeader.write(frame, destinationMac, MAC_B, EtherType.IPV6);
        Ipv6Header.writeFixed(frame + 14, 0, 0, lengthBytes, IpProtocol.ICMPV6, hopLimit);
        Ipv6Header.setSource(frame + 14, source.high(), source.low());
        Ipv6Header.setDestination(frame + 14, destination.high(), destination.low());
        NativeMemory.copy(message, frame + 54, lengthBytes);
        IcmpHeader.updateChecksum(frame + 54, lengthBytes, InternetChecksum.pseudoHeaderIpv6(source.high(),
                source.low(), destination.high(), destination.low(), IpProtocol.ICMPV6, lengthBytes));
        Libc.free(message);
        return bytes(frame, 54 + lengthBytes);
    }

    private static byte[] neighborAdvertisement(IpAddress target, long mac, int flags) {
        long message = Libc.allocateZeroed(64);
        int lengthBytes = NeighborDiscovery.write(message, NeighborDiscovery.NEIGHBOR_ADVERTISEMENT, flags,
                target.high(), target.low(), NeighborDiscovery.OPTION_TARGET_LINK_LAYER, mac);
        return icmpv6(MAC_A, target, IP6_A, 255, message, lengthBytes);
    }

    private static byte[] routerAdvertisement(IpAddress router, int lifetimeSeconds, int mtuBytes) {
        long message = Libc.allocateZeroed(128);
        IcmpHeader.write(message, NeighborDiscovery.ROUTER_ADVERTISEMENT, 0, 64 << 24 | lifetimeSeconds);
        long options = message + 16;
        NetworkOrder.putU16(options, 0x0101);
        NetworkOrder.putU48(options + 2, MAC_B);
        NetworkOrder.putU16(options + 8, 0x0501);
        NetworkOrder.putInt(options + 12, mtuBytes);
        NetworkOrder.putInt(options + 16, 0x03044080 + (64 - 0x40 << 8));
        NetworkOrder.putInt(options + 20, 3600);
        NetworkOrder.putLong(options + 32, IpAddress.parse("2001:db8:7::").high());
        return icmpv6(ALL_NODES_MAC, router, IpAddress.parse("ff02::1"), 255, message, 64);
    }

    private static byte[] echo(boolean ipv4, int dataBytes) {
        long message = Libc.allocateZeroed(FRAME_BYTES);
        IcmpHeader.write(message, ipv4 ? IcmpHeader.ECHO_REQUEST : IcmpHeader.V6_ECHO_REQUEST, 0, 5 << 16 | 77);
        for (int i = 0; i < dataBytes; i++) {
            NativeMemory.putByte(message + 8 + i, (byte) i);
        }
        if (!ipv4) {
            return icmpv6(MAC_A, IP6_B, IP6_A, 64, message, 8 + dataBytes);
        }
        long frame = Libc.allocateZeroed(FRAME_BYTES);
        EthernetHeader.write(frame, MAC_A, MAC_B, EtherType.IPV4);
        Ipv4Header.write(frame + 14, 0, 28 + dataBytes, 1, 0, 64, IpProtocol.ICMP, IP_B.ipv4(), IP_A.ipv4());
        IcmpHeader.updateChecksum(message, 8 + dataBytes);
        NativeMemory.copy(message, frame + 34, 8 + dataBytes);
        Libc.free(message);
        return bytes(frame, 42 + dataBytes);
    }
}
