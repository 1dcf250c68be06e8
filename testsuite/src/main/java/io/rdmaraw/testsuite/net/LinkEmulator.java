package io.rdmaraw.testsuite.net;

import io.rdmaraw.ffi.EventFd;
import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.testsuite.sim.ImpairedLine;
import io.rdmaraw.testsuite.sim.Impairment;

/**
 * Emulates a path with impairments between two interfaces in real time, for kernels without netem. A thread receives
 * Ethernet frames from each interface and sends them on the other one, at the time determined by the
 * {@link ImpairedLine} of their direction. With the same seed, the n-th frame of a direction has the same fate in every
 * run. ARP, neighbour discovery and multicast are not impaired.
 *
 * <p>The interfaces should have no addresses. Their offloads must be off; otherwise the kernel delivers segments that
 * are longer than {@link #FRAME_BYTES}.
 */
public final class LinkEmulator implements AutoCloseable {
    /** Maximum length of a frame. */
    public static final int FRAME_BYTES = 2048;
    private static final int SLOTS = 1 << 16;
    private static final long PRCTL = Libc.address("prctl");
    private static final int PR_SET_TIMERSLACK = 29;
    private static final long SETPRIORITY = Libc.address("setpriority");
    private static final int NICE = -19;
    private static final long TIMER_SLACK_NANOS = 1000;
    /** Minimum time to sleep. For less, going to sleep costs more than it saves. */
    private static final long MIN_WAIT_NANOS = 20_000;

    private final PacketPort left;
    private final PacketPort right;
    private final FrameSlots slots = new FrameSlots(SLOTS);
    private final LinkEmulatorDirection toRight;
    private final LinkEmulatorDirection toLeft;
    private final EventFd stop = new EventFd();
    private final Thread thread;
    private final Object countersLock = new Object();
    private LinkEmulatorCounters[] counters;
    private boolean countersRequested;
    private boolean ended;
    private boolean closed;
    private Throwable failure;

    private LinkEmulator(PacketPort left, PacketPort right, Impairment toRight, Impairment toLeft, long seed) {
        this.left = left;
        this.right = right;
        this.toRight = new LinkEmulatorDirection(left, right, slots, new ImpairedLine(toRight, seed));
        this.toLeft = new LinkEmulatorDirection(right, left, slots, new ImpairedLine(toLeft, ~seed));
        thread = Thread.ofPlatform().daemon().name("link emulator").unstarted(this::run);
    }

    /** Connects two ends. */
    static LinkEmulator start(VethEnd left, VethEnd right, Impairment toRight, Impairment toLeft, long seed) {
        return start(PacketPort.open(left), () -> PacketPort.open(right), toRight, toLeft, seed);
    }

    /** Opens a port. */
    interface Opener {
        PacketPort open();
    }

    static LinkEmulator start(PacketPort left, Opener opener, Impairment toRight, Impairment toLeft, long seed) {
        PacketPort right;
        try {
            right = opener.open();
        } catch (Throwable e) {
            left.close();
            throw e;
        }
        LinkEmulator emulator = new LinkEmulator(left, right, toRight, toLeft, seed);
        emulator.thread.start();
        return emulator;
    }

    private void run() {
        raiseTimerPrecision();
        try (FdWaiter waiter = new FdWaiter(stop.fd(), left.fd(), right.fd());
                FdWaiter onlyStop = new FdWaiter(stop.fd())) {
            while (!answerCounters(false)) {
                turn(waiter, onlyStop);
            }
        } catch (Throwable e) {
            synchronized (countersLock) {
                failure = e;
            }
        } finally {
            answerCounters(true);
        }
    }

    /**
     * Reduces the timer slack and raises the priority of the calling thread, so that it is as punctual as the kernel's
     * own network threads.
     */
    public static void raiseTimerPrecision() {
        NativeCall.intValue(PRCTL, PR_SET_TIMERSLACK, TIMER_SLACK_NANOS, 0, 0);
        NativeCall.intValue(SETPRIORITY, 0, 0, NICE);
    }

    /** Receives frames and sends those that are due. Waits if there was nothing to do. */
    private void turn(FdWaiter waiter, FdWaiter onlyStop) {
        int work = toRight.receive() + toLeft.receive();
        long now = System.nanoTime();
        work += toRight.send(now) + toLeft.send(now);
        long next = Math.min(toRight.nextNanos(), toLeft.nextNanos());
        if (work > 0 || next <= now || next - now < MIN_WAIT_NANOS) {
            Thread.onSpinWait();
            return;
        }
        // While all slots are in use, the sockets stay readable. Only frames that become due release slots.
        FdWaiter on = slots.isEmpty() ? onlyStop : waiter;
        if ((on.await(next == Long.MAX_VALUE ? -1 : next - now) & 1) != 0) {
            stop.drain();
        }
    }

    /** Publishes the counters if requested. Called between two turns; returns whether the link emulator must stop. */
    private boolean answerCounters(boolean last) {
        synchronized (countersLock) {
            if (countersRequested || last) {
                counters = new LinkEmulatorCounters[] {toRight.counters(), toLeft.counters()};
                countersRequested = false;
                ended |= last;
                countersLock.notifyAll();
            }
            return ended;
        }
    }

    /** Returns the counters from the first interface to the second. They remain available after {@link #close}. */
    public LinkEmulatorCounters toRight() {
        return read()[0];
    }

    /** Returns the counters from the second interface to the first. They remain available after {@link #close}. */
    public LinkEmulatorCounters toLeft() {
        return read()[1];
    }

    private LinkEmulatorCounters[] read() {
        synchronized (countersLock) {
            countersRequested = !ended;
            if (countersRequested) {
                stop.signal();
            }
            try {
                while (countersRequested) {
                    countersLock.wait();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while waiting for the link emulator", e);
            }
            if (failure != null) {
                throw new IllegalStateException("the link emulator has ended: " + failure.getMessage(), failure);
            }
            return counters;
        }
    }

    /** Stops the emulator and discards the frames in flight. */
    @Override
    public void close() {
        synchronized (countersLock) {
            if (closed) {
                return;
            }
            closed = true;
            ended = true;
        }
        stop.signal();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while the link emulator ends", e);
        }
        left.close();
        right.close();
        stop.close();
        slots.close();
    }
}
