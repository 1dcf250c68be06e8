package io.rdmaraw.testsuite.net;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.testsuite.sim.ImpairedLine;
import java.time.Instant;

/**
 * Forwards frames from one port to the other, each at the time determined by the line. Used by the link emulator's
 * thread.
 */
final class LinkEmulatorDirection {
    private static final int ETHERTYPE_AT = 12;
    private static final int ETHERTYPE_ARP_SWAPPED = 0x0608;
    private static final int ETHERTYPE_IPV6_SWAPPED = 0xdd86;
    private static final int IPV6_NEXT_HEADER_AT = 20;
    private static final int ICMPV6 = 58;
    private static final int ICMPV6_TYPE_AT = 54;
    private static final int ROUTER_SOLICITATION = 133;
    private static final int REDIRECT = 137;

    /** Maximum age of a timestamp. An older one means that the real-time clock has been set. */
    private static final long LATEST_NANOS = 500_000_000;

    private final PacketPort from;
    private final PacketPort to;
    private final FrameSlots slots;
    private final ImpairedLine line;
    private final FrameSchedule schedule = new FrameSchedule();
    private final int[] inbound = new int[PacketPort.BURST];
    private final int[] outbound = new int[PacketPort.BURST];
    private long lastStampNanos = Long.MIN_VALUE;
    private int inboundCount;
    private int outboundCount;
    private long received;
    private long delivered;
    private long lost;
    private long overflowed;
    private long unkept;
    private long kernelDrops;

    LinkEmulatorDirection(PacketPort from, PacketPort to, FrameSlots slots, ImpairedLine line) {
        this.from = from;
        this.to = to;
        this.slots = slots;
        this.line = line;
    }

    /** Receives frames and returns their number. */
    int receive() {
        while (inboundCount < PacketPort.BURST && !slots.isEmpty()) {
            int slot = slots.acquire();
            from.receiveInto(inboundCount, slots.address(slot), LinkEmulator.FRAME_BYTES);
            inbound[inboundCount++] = slot;
        }
        if (inboundCount == 0) {
            // No slot is free. The frames stay in the socket, which counts its drops, until other frames have been
            // sent.
            return 0;
        }
        int count = from.receive(inboundCount);
        if (count > 0) {
            // In this order: if the thread is interrupted in between, frames are delayed longer, but never less.
            long realTime = realTimeNanos();
            long now = System.nanoTime();
            long ahead = realTime - now;
            for (int i = 0; i < count; i++) {
                // Use the kernel's timestamp. Otherwise a burst after a late wake-up would overflow the buffer of the
                // line.
                long kernelNanos = from.receivedRealTimeNanos(i);
                long stamp = kernelNanos == 0 ? now : kernelNanos - ahead;
                lastStampNanos = Math.clamp(stamp, Math.max(lastStampNanos, now - LATEST_NANOS), now);
                take(inbound[i], from.receivedBytes(i), lastStampNanos);
            }
        }
        received += count;
        inboundCount -= count;
        for (int i = 0; i < inboundCount && count > 0; i++) {
            inbound[i] = inbound[i + count];
            from.receiveInto(i, slots.address(inbound[i]), LinkEmulator.FRAME_BYTES);
        }
        return count;
    }

    private static long realTimeNanos() {
        Instant instant = Instant.now();
        return instant.getEpochSecond() * 1_000_000_000L + instant.getNano();
    }

    private void take(int slot, int lengthBytes, long now) {
        if (lengthBytes < 0) {
            unkept++;
            slots.release(slot);
            return;
        }
        slots.length(slot, lengthBytes);
        if (isHousekeeping(slots.address(slot), lengthBytes)) {
            schedule.add(slot, now);
            return;
        }
        long arrival = line.arrivalNanos(lengthBytes, now);
        if (arrival == ImpairedLine.LOST) {
            lost++;
            slots.release(slot);
        } else if (arrival == ImpairedLine.OVERFLOWED) {
            overflowed++;
            slots.release(slot);
        } else {
            schedule.add(slot, arrival);
        }
    }

    /**
     * Returns whether a frame belongs to the test network itself: ARP, neighbour discovery and multicast, such as group
     * reports of the kernel. Such frames do not consume random decisions of the seed.
     */
    private static boolean isHousekeeping(long frame, int lengthBytes) {
        if ((NativeMemory.getByte(frame) & 1) != 0) {
            return true;
        }
        int etherType = NativeMemory.getShort(frame + ETHERTYPE_AT) & 0xFFFF;
        if (etherType != ETHERTYPE_IPV6_SWAPPED) {
            return etherType == ETHERTYPE_ARP_SWAPPED;
        }
        int type = lengthBytes > ICMPV6_TYPE_AT ? NativeMemory.getByte(frame + ICMPV6_TYPE_AT) & 0xFF : 0;
        return NativeMemory.getByte(frame + IPV6_NEXT_HEADER_AT) == ICMPV6 && type >= ROUTER_SOLICITATION
                && type <= REDIRECT;
    }

    /** Sends the frames that are due and returns the number of frames sent. */
    int send(long now) {
        while (outboundCount < PacketPort.BURST && schedule.firstNanos() <= now) {
            int slot = schedule.removeFirst();
            to.sendFrom(outboundCount, slots.address(slot), slots.length(slot));
            outbound[outboundCount++] = slot;
        }
        if (outboundCount == 0) {
            return 0;
        }
        int sent = to.send(outboundCount);
        delivered += sent;
        for (int i = 0; i < sent; i++) {
            slots.release(outbound[i]);
        }
        outboundCount -= sent;
        for (int i = 0; i < outboundCount && sent > 0; i++) {
            outbound[i] = outbound[i + sent];
            to.sendFrom(i, slots.address(outbound[i]), slots.length(outbound[i]));
        }
        return sent;
    }

    /** Returns when the next frame is due; {@link Long#MAX_VALUE} if there is none. */
    long nextNanos() {
        return outboundCount > 0 ? Long.MIN_VALUE : schedule.firstNanos();
    }

    LinkEmulatorCounters counters() {
        kernelDrops += from.kernelDrops();
        return new LinkEmulatorCounters(received, delivered, lost, overflowed, unkept, kernelDrops);
    }
}
