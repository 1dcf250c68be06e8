package io.rdmaraw.net;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.wire.ParsedFrame;

import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Reassembles IP packets of any protocol from fragments (RFC 791 section 3.2, RFC 8200 section 4.5).
 *
 * <p>Fragments are copied to their position. An overlapping fragment discards the packet (RFC 5722); a repeated
 * one is ignored. The result is a frame with the whole packet, to be parsed like any other. Never reads the
 * clock; callers pass the current time. Not thread-safe.
 */
public final class PacketReassembly {
    /** Receives packets that were not complete in time. */
    public interface ExpiryListener {
        /**
         * @param firstFragment the frame of the first fragment; the callee must release it
         */
        void onExpired(ByteBuf firstFragment);
    }

    /** Counters, written by the thread of the reassembly. Other threads may read slightly stale values. */
    public static final class Counters {
        /** Fragments received. */
        public long received;
        /** Packets reassembled. */
        public long reassembled;
        /** Fragments dropped because they overlap, exceed a limit, are too late, or belong to an invalid packet. */
        public long dropped;
    }

    /** Memory charged for the record of a packet, in addition to its content. */
    private static final int RECORD_BYTES = 512;
    private static final int IPV4 = 0;
    private static final int IPV6 = 1;

    /** Identifies a packet. The protocol is part of the key in IPv4 (RFC 791), but not in IPv6 (RFC 8200). */
    private record Key(IpAddress source, IpAddress destination, int identification, int protocol) {
    }

    /** The incomplete packets of one source. */
    private static final class Source {
        private final Set<Partial> partials = new LinkedHashSet<>();
        private int bytes;
    }

    /** An incomplete packet. */
    private static final class Partial {
        private final Key key;
        private final Source source;
        private final long beganNanos;
        private final PartialPacket packet;
        private int chargedBytes;

        Partial(Key key, Source source, long beganNanos, PartialPacket packet) {
            this.key = key;
            this.source = source;
            this.beganNanos = beganNanos;
            this.packet = packet;
        }
    }

    private final ByteBufAllocator allocator;
    private final ReassemblyLimits limits;
    private final Counters counters;
    private final ExpiryListener expiryListener;
    /** Incomplete packets by IP version. Each map is in the order of arrival of the first fragments. */
    private final List<Map<Key, Partial>> partials = List.of(new LinkedHashMap<>(), new LinkedHashMap<>());
    private final Map<IpAddress, Source> sources = new HashMap<>();
    private int bytes;
    private int finishedFragments;

    public PacketReassembly(ByteBufAllocator allocator, ReassemblyLimits limits, Counters counters,
                            ExpiryListener expiryListener) {
        this.allocator = allocator;
        this.limits = limits;
        this.counters = counters;
        this.expiryListener = expiryListener;
    }

    /**
     * Adds a fragment.
     *
     * @param fragment a frame that was parsed as a fragment
     * @return a frame with the whole packet if this was the last missing fragment, otherwise null
     */
    public ByteBuf add(ParsedFrame fragment, long nowNanos) {
        counters.received++;
        expire(nowNanos);
        boolean ipv4 = fragment.ipVersion() == 4;
        Map<Key, Partial> ofVersion = partials.get(ipv4 ? IPV4 : IPV6);
        Key key = new Key(IpAddress.sourceOf(fragment), IpAddress.destinationOf(fragment),
                fragment.fragmentIdentification(), ipv4 ? fragment.protocol() : 0);
        Partial partial = ofVersion.get(key);
        if (partial == null) {
            partial = new Partial(key, sources.computeIfAbsent(key.source, address -> new Source()), nowNanos,
                    new PartialPacket(allocator, headersBytes(ipv4)));
            partial.source.partials.add(partial);
            ofVersion.put(key, partial);
            charge(partial, RECORD_BYTES);
        }
        if (!partial.packet.add(fragment)) {
            drop(partial);
            return null;
        }
        if (partial.packet.isComplete()) {
            return finish(partial, ipv4);
        }
        charge(partial, RECORD_BYTES + partial.packet.capacityBytes());
        makeRoom(partial);
        return null;
    }

    /** Reports that the last reassembled packet is invalid. Its fragments are then counted as dropped. */
    public void rejectLast() {
        counters.reassembled--;
        counters.dropped += finishedFragments;
    }

    private static int headersBytes(boolean ipv4) {
        return EthernetHeader.LENGTH_BYTES + (ipv4 ? Ipv4Header.MIN_LENGTH_BYTES : Ipv6Header.LENGTH_BYTES);
    }

    private ByteBuf finish(Partial partial, boolean ipv4) {
        remove(partial);
        finishedFragments = partial.packet.fragmentCount();
        counters.reassembled++;
        ByteBuf frame = partial.packet.frame();
        long address = BufferAddress.of(frame);
        int payloadBytes = frame.readableBytes() - headersBytes(ipv4);
        writeHeaders(address, partial, ipv4, payloadBytes);
        return frame;
    }

    /**
     * Options and extension headers before the fragment header are omitted: they were checked for each
     * fragment.
     */
    private static void writeHeaders(long frame, Partial partial, boolean ipv4, int payloadBytes) {
        PartialPacket packet = partial.packet;
        IpAddress source = partial.key.source;
        IpAddress destination = partial.key.destination;
        EthernetHeader.write(frame, packet.destinationMac(), packet.sourceMac(),
                ipv4 ? EtherType.IPV4 : EtherType.IPV6);
        long ip = frame + EthernetHeader.LENGTH_BYTES;
        if (ipv4) {
            Ipv4Header.write(ip, packet.trafficClass(), Ipv4Header.MIN_LENGTH_BYTES + payloadBytes,
                    partial.key.identification, 0, packet.hopLimit(), packet.protocol(), source.ipv4(),
                    destination.ipv4());
        } else {
            Ipv6Header.writeFixed(ip, packet.trafficClass(), 0, payloadBytes, packet.protocol(), packet.hopLimit());
            Ipv6Header.setSource(ip, source.high(), source.low());
            Ipv6Header.setDestination(ip, destination.high(), destination.low());
        }
    }

    private void charge(Partial partial, int chargedBytes) {
        int more = chargedBytes - partial.chargedBytes;
        partial.chargedBytes = chargedBytes;
        partial.source.bytes += more;
        bytes += more;
    }

    private void makeRoom(Partial growing) {
        while (growing.source.bytes > limits.maxSourceBytes()) {
            drop(growing.source.partials.iterator().next());
        }
        while (bytes > limits.maxBytes()) {
            drop(oldest());
        }
    }

    private Partial oldest() {
        Partial ipv4 = first(IPV4);
        Partial ipv6 = first(IPV6);
        return ipv6 == null || ipv4 != null && ipv4.beganNanos - ipv6.beganNanos <= 0 ? ipv4 : ipv6;
    }

    private Partial first(int version) {
        Iterator<Partial> all = partials.get(version).values().iterator();
        return all.hasNext() ? all.next() : null;
    }

    /** Discards packets that were not complete in time. */
    public void expire(long nowNanos) {
        expire(IPV4, limits.timeoutNanosIpv4(), nowNanos);
        expire(IPV6, limits.timeoutNanosIpv6(), nowNanos);
    }

    private void expire(int version, long timeoutNanos, long nowNanos) {
        for (Partial oldest = first(version); oldest != null && nowNanos - oldest.beganNanos >= timeoutNanos;
                oldest = first(version)) {
            ByteBuf firstFragment = oldest.packet.firstFragment();
            drop(oldest);
            if (firstFragment != null) {
                expiryListener.onExpired(firstFragment);
            }
        }
    }

    /** Returns the time of the next expiry, or Long.MAX_VALUE. */
    public long deadlineNanos() {
        Partial ipv4 = first(IPV4);
        Partial ipv6 = first(IPV6);
        return Math.min(ipv4 == null ? Long.MAX_VALUE : ipv4.beganNanos + limits.timeoutNanosIpv4(),
                ipv6 == null ? Long.MAX_VALUE : ipv6.beganNanos + limits.timeoutNanosIpv6());
    }

    private void drop(Partial partial) {
        remove(partial);
        counters.dropped += partial.packet.fragmentCount();
        partial.packet.release();
    }

    private void remove(Partial partial) {
        charge(partial, 0);
        partials.get(partial.key.source.isIpv4() ? IPV4 : IPV6).remove(partial.key);
        partial.source.partials.remove(partial);
        if (partial.source.partials.isEmpty()) {
            sources.remove(partial.key.source);
        }
    }

    /** Discards all incomplete packets. */
    public void close() {
        while (bytes > 0) {
            drop(oldest());
        }
    }
}
