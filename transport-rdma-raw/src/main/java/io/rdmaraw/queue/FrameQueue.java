package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.Flow;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.VerbsObject;
import io.rdmaraw.verbs.WorkQueue;
import io.rdmaraw.verbs.flow.FlowSpec;

/**
 * A send and a receive queue of Ethernet frames on one port, driven by one event loop.
 *
 * <p>Everything works in bursts and nothing blocks. Frames received are the slots that the device wrote to; frames sent
 * are read by the device in place where they lie in registered memory, and copied once into a slot otherwise. All
 * methods are for the owning loop's thread only.
 */
public interface FrameQueue extends AutoCloseable {
    /** {@link #offer} took the frame: it goes out with the next {@link #post()}. */
    int ACCEPTED = 0;
    /** {@link #offer} has no room: the send queue is full, or the burst is, or no slot is free for a copy. */
    int FULL = 1;

    /** The largest number of frames that are received or posted at once. */
    int BURST_FRAMES = 64;

    /** The longest headers of {@link #offerSegmented}: Ethernet with a VLAN tag, IPv6, TCP with all its options. */
    int MAX_SEGMENTED_HEADER_BYTES = 14 + 4 + 40 + 60;

    /**
     * Takes frames that have come in, and gives the receive queue fresh slots.
     *
     * @param burst is filled anew; the caller takes each of its frames with {@link ReceiveBurst#takeFrame}
     * @return the number of frames in the burst
     */
    int receive(ReceiveBurst burst);

    /**
     * Adds a frame to the burst that {@link #post()} sends.
     *
     * @param frame what is readable is one Ethernet frame without FCS, of a length that was checked by the caller. An
     *        accepted frame's reference passes to the queue, which releases it when the device has sent the frame
     * @return {@link #ACCEPTED} or {@link #FULL}
     */
    int offer(ByteBuf frame);

    /**
     * As {@link #offer(ByteBuf)}, for frames that are slots of {@link #slots()}.
     *
     * @param slotIndices the numbers of the slots ({@link FrameBuf#slotIndex()})
     * @param from the first to offer
     * @param end behind the last to offer
     * @return how many were accepted, beginning with the first; there was no room for the next
     */
    int offerSlots(int[] slotIndices, int from, int end);

    /**
     * Adds a frame that consists of headers and a payload; as {@link #offer(ByteBuf)} otherwise. The payload is sent
     * from where it lies when that memory is registered, and copied behind the headers if not.
     *
     * @param headers the frame's first bytes, in a slot of {@link #slots()} that has room for the payload too
     * @param payload what is readable follows the headers
     * @return {@link #ACCEPTED}, both references have passed to the queue; or {@link #FULL}
     */
    default int offer(FrameBuf headers, ByteBuf payload) {
        return offer(headers, payload, false);
    }

    /**
     * As {@link #offer(FrameBuf, ByteBuf)}.
     *
     * @param fillChecksums whether the device computes the checksums of IPv4, and of UDP or TCP, and writes them where
     *        they belong: only when {@link #offloadsChecksums()}, and not for fragments
     */
    int offer(FrameBuf headers, ByteBuf payload, boolean fillChecksums);

    /** Tells whether the device computes checksums. */
    boolean offloadsChecksums();

    /**
     * Adds a frame that consists of headers and parts of buffers in registered memory, all sent from where they lie; as
     * {@link #offer(ByteBuf)} otherwise.
     *
     * @param headers the frame's first bytes, in a slot of {@link #slots()}
     * @param buffers what the parts lie in, each with a reference that passes to the queue if the frame is accepted
     * @param indices where the parts begin
     * @param lengthsBytes how long they are
     * @param count the number of parts, at most {@link #maxParts()}; {@link #isRegistered} of each, or
     *        {@link #sendsAllMemory()}
     * @param fillChecksums as for {@link #offer(FrameBuf, ByteBuf, boolean)}
     * @return {@link #ACCEPTED} or {@link #FULL}
     */
    int offer(FrameBuf headers, ByteBuf[] buffers, int[] indices, int[] lengthsBytes, int count,
              boolean fillChecksums);

    /**
     * Adds a TCP payload that the device cuts into segments (TSO), only when {@link #maxSegmentedBytes()} is not 0; as
     * {@link #offer(FrameBuf, ByteBuf[], int[], int[], int, boolean)} otherwise. Each segment goes out behind a copy of
     * the headers, in which the device sets the length, counts on the IPv4 identification and the sequence number,
     * leaves FIN and PSH to the last segment, and fills in the checksums. It is one frame of the send queue and of its
     * counters.
     *
     * @param headers Ethernet, IP and TCP headers of the first segment and nothing else, at most
     *        {@link #MAX_SEGMENTED_HEADER_BYTES}
     * @param count at least 1
     * @param segmentBytes payload of every segment but the last; with the headers no longer than the link takes
     */
    int offerSegmented(FrameBuf headers, ByteBuf[] buffers, int[] indices, int[] lengthsBytes, int count,
                       int segmentBytes);

    /** Returns how frames are exchanged with the device, in a few words. */
    String mode();

    /** Returns how long the payload of one {@link #offerSegmented} may be; 0 when the device cuts nothing. */
    int maxSegmentedBytes();

    /** Returns how many parts a frame may have beside its headers. */
    int maxParts();

    /** Tells whether parts of a frame may lie anywhere in direct memory, registered or not. */
    boolean sendsAllMemory();

    /** Tells whether these bytes lie in memory that every device can send from. */
    boolean isRegistered(ByteBuf buffer, int index, int lengthBytes);

    /**
     * Hands the offered frames to the device with one doorbell.
     *
     * @return a bit for each frame of the burst, in the order they were offered, that the device refused: it is
     *         released and not sent; 0 when all went well. {@link #refusalErrno()} says why
     */
    long post();

    /** Returns the errno of the refusal that {@link #post()} met last. */
    int refusalErrno();

    /** Returns how many more frames can be offered before the send queue is full. */
    int sendRoom();

    /** Releases the frames that the device has sent; returns how many. */
    int reclaim();

    /** Returns the number of frames that the device has not yet sent. */
    int inFlight();

    /**
     * Asks for an event on the completion channel for the next completion. Poll once more afterwards: what came in
     * between raises no event.
     */
    void arm();

    /** Steers the frames that match {@code spec} to this queue. */
    Flow steer(FlowSpec spec) throws VerbsException;

    /**
     * Returns the work queue by which rules that are spread over several queues lead here, see {@link RssFlows};
     * made on first use. What comes by it is received as the rest is.
     *
     * @throws IllegalStateException when there are not slots enough for it
     */
    WorkQueue workQueue();

    /**
     * How often the two receive queues were reset in place. Completions may have told of a failure before its
     * asynchronous event is read.
     */
    record Resets(int queuePair, int workQueue) {
    }

    /** Returns how often the queue was reset until now. To be called on any thread. */
    Resets resets();

    /**
     * Takes note of an asynchronous event that says that {@code source} has failed.
     *
     * @param whenRaised {@link #resets()} when the event was read
     * @return whether that is this queue's and has not been reset since
     */
    boolean noteFailure(VerbsObject source, Resets whenRaised);

    /** Tells whether an error has stopped the queue; {@link #recover()} sets it going again. */
    boolean failed();

    /**
     * Tells whether {@link #recover()} has to make new queues, since a completion queue has overrun: all rules that
     * lead here have to be taken away before and to be steered again afterwards, and {@link #workQueue()} is another.
     */
    boolean needsNewQueues();

    /**
     * Tells whether a reset throws away frames that come in after the last look, without counting them: the rules that
     * lead here are better taken away for so long, or reception stopped.
     */
    boolean resetLosesFrames();

    /**
     * Stops receiving where {@link #resetLosesFrames()} and the queue pair is to be reset: from now on the device drops
     * and counts what comes.
     */
    void stopReceiving();

    /**
     * Resets the queue pair in place, or makes another when {@link #needsNewQueues()}; counts the frames lost, and
     * receives and sends again.
     *
     * <p>Where the device refuses the reset, nothing is recovered, and {@link #needsNewQueues()} says so.
     *
     * @param takeReceived takes what has come in by {@link #receive}, until nothing does. Called before the reset,
     *        which may throw away completions that were not polled, and again after it for those that came meanwhile;
     *        with new queues called once, before they are used
     */
    void recover(Runnable takeReceived);

    /** Returns the slots that frames are received into. */
    SlotPool slots();

    /** Returns what was counted since the queue was made. */
    QueueCounters counters();

    /** Closes the queue pair; frames in flight are released once the device cannot read them any more. */
    @Override
    void close();
}
