package io.rdmaraw.host;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.net.IpAddress;

import java.util.concurrent.Executor;

/**
 * Who has a port, as the host sees it: whom it hands what came by no rule of the port's own. All calls but
 * {@link #loop()} come on the owner's loop; a loop's TCP takes errors, and what the kernel has, on any thread.
 */
public interface PortOwner {
    /** Returns where the owner lives now; refuses tasks when it is on no loop. Any thread. */
    Executor loop();

    /**
     * Takes a whole frame and its reference: the device had no room for the port's rules, or a segment of TCP came in
     * fragments, which no rule for a port matches.
     */
    void receiveUnsteered(ByteBuf frame, boolean checksumVerified);

    /** Takes a datagram put together from fragments, or of the same host, its UDP header first, and its reference. */
    void receiveReassembled(ByteBuf packet, IpAddress source, IpAddress destination);

    /**
     * Takes a TCP segment that came by the kernel, as a frame and its reference, for any stack of the device; on any
     * thread.
     */
    default void segmentByKernel(ByteBuf frame) {
        frame.release();
    }

    /** So many such segments were dropped, as their checksum is wrong; on any thread. */
    default void badSegmentsByKernel(int count) {
    }

    /** An ICMP error quotes a packet of the port's. */
    void icmpError(IcmpError error);
}
