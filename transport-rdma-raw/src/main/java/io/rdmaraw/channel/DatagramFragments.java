package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.host.HostView;
import io.rdmaraw.route.IpAddress;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.UdpHeader;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Puts UDP datagrams together from fragments (RFC 791 section 3.2, RFC 8200 section 4.5). Fragments are copied to where
 * they belong; overlapping ones end their datagram (RFC 5722), repeated ones are ignored. For one channel.
 */
final class DatagramFragments {
    /** What a sender may leave unfinished here; Linux allows 4 MiB per namespace. */
    private static final int MAX_DATAGRAMS = 32;
    private static final int MAX_DATAGRAM_BYTES = 65535;
    /** RFC 8200 section 4.5 says 60 s; Linux waits 30 s for IPv4. */
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(30);

    private record Key(IpAddress source, IpAddress destination, int identification) {
    }

    /** A datagram of which parts are missing. */
    private static final class Partial {
        private final long deadlineNanos;
        private final ByteBuf bytes;
        /** One bit per 8 bytes: all fragments but the last are multiples of that. */
        private final long[] present = new long[MAX_DATAGRAM_BYTES / 8 / Long.SIZE + 1];
        private int fragments;
        private int presentBytes;
        private int totalBytes = -1;
        /** Where the fragment ends that lies farthest behind. */
        private int farthestEnd;
        private boolean broken;

        Partial(long deadlineNanos, ByteBuf bytes) {
            this.deadlineNanos = deadlineNanos;
            this.bytes = bytes;
        }

        /** Marks units as there; returns how many were there before. */
        private int mark(int firstUnit, int units) {
            int repeated = 0;
            for (int unit = firstUnit; unit < firstUnit + units; unit++) {
                long bit = 1L << unit;
                repeated += (present[unit / Long.SIZE] & bit) == 0 ? 0 : 1;
                present[unit / Long.SIZE] |= bit;
            }
            return repeated;
        }
    }

    private final ByteBufAllocator allocator;
    private final RdmaRawDatagramStatistics statistics;
    private final Map<Key, Partial> partials = new LinkedHashMap<>();
    private IpAddress source;
    private IpAddress destination;

    DatagramFragments(ByteBufAllocator allocator, RdmaRawDatagramStatistics statistics) {
        this.allocator = allocator;
        this.statistics = statistics;
    }

    /**
     * Adds a fragment.
     *
     * @param fragment a frame with the verdict that it is a fragment
     * @return the UDP datagram, header first, when this was the last one missing and the checksum holds; else null
     */
    ByteBuf add(ParsedFrame fragment, ByteBuf frame, long nowNanos) {
        statistics.receivedFragments++;
        expire(nowNanos);
        if (fragment.protocol() != IpProtocol.UDP) {
            statistics.droppedFragments++;
            return null;
        }
        source = IpAddress.sourceOf(fragment);
        destination = IpAddress.destinationOf(fragment);
        Key key = new Key(source, destination, fragment.fragmentIdentification());
        Partial partial = partials.get(key);
        if (partial == null) {
            if (partials.size() == MAX_DATAGRAMS) {
                drop(partials.remove(partials.keySet().iterator().next()));
            }
            partial = new Partial(nowNanos + TIMEOUT_NANOS, allocator.directBuffer(MAX_DATAGRAM_BYTES));
            partials.put(key, partial);
        }
        place(partial, fragment, frame);
        if (partial.broken) {
            partials.remove(key);
            drop(partial);
            return null;
        }
        if (partial.presentBytes != partial.totalBytes) {
            return null;
        }
        partials.remove(key);
        return finish(partial);
    }

    /** Returns the source of the fragment added last. */
    IpAddress source() {
        return source;
    }

    /** Returns the destination of the fragment added last. */
    IpAddress destination() {
        return destination;
    }

    private static void place(Partial partial, ParsedFrame fragment, ByteBuf frame) {
        int offset = fragment.fragmentOffsetBytes();
        int lengthBytes = fragment.payloadLengthBytes();
        int end = offset + lengthBytes;
        partial.fragments++;
        partial.farthestEnd = Math.max(partial.farthestEnd, end);
        if (!fragment.isMoreFragments()) {
            partial.broken = partial.totalBytes >= 0 && partial.totalBytes != end;
            partial.totalBytes = end;
        }
        // Nothing lies behind the last one, whichever came first: else its bytes would count for missing ones.
        if (end > MAX_DATAGRAM_BYTES || partial.totalBytes >= 0 && partial.farthestEnd > partial.totalBytes) {
            partial.broken = true;
        }
        int units = (end + 7) / 8 - offset / 8;
        int repeated = partial.broken ? 0 : partial.mark(offset / 8, units);
        if (repeated > 0 && repeated < units) {
            partial.broken = true;
        }
        if (!partial.broken && repeated == 0) {
            partial.bytes.setBytes(offset, frame, frame.readerIndex() + fragment.payloadOffset(), lengthBytes);
            partial.presentBytes += lengthBytes;
        }
    }

    private ByteBuf finish(Partial partial) {
        ByteBuf bytes = partial.bytes.writerIndex(partial.totalBytes);
        long address = HostView.addressOf(bytes);
        if (partial.totalBytes < UdpHeader.LENGTH_BYTES || UdpHeader.lengthBytes(address) != partial.totalBytes
                || !isChecksumRight(address, partial.totalBytes)) {
            drop(partial);
            return null;
        }
        statistics.reassembledDatagrams++;
        return bytes;
    }

    private boolean isChecksumRight(long address, int lengthBytes) {
        if (UdpHeader.checksum(address) == 0) {
            return source.isIpv4();
        }
        long pseudo = source.isIpv4()
                ? InternetChecksum.pseudoHeaderIpv4(source.ipv4(), destination.ipv4(), IpProtocol.UDP, lengthBytes)
                : InternetChecksum.pseudoHeaderIpv6(source.high(), source.low(), destination.high(),
                        destination.low(), IpProtocol.UDP, lengthBytes);
        return InternetChecksum.isValid(InternetChecksum.sum(address, lengthBytes, pseudo));
    }

    private void expire(long nowNanos) {
        for (Iterator<Partial> all = partials.values().iterator(); all.hasNext();) {
            Partial oldest = all.next();
            if (oldest.deadlineNanos - nowNanos > 0) {
                return;
            }
            all.remove();
            drop(oldest);
        }
    }

    private void drop(Partial partial) {
        statistics.droppedFragments += partial.fragments;
        partial.bytes.release();
    }

    void close() {
        partials.values().forEach(this::drop);
        partials.clear();
    }
}
