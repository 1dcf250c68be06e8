package io.rdmaraw.testsuite.net;

import io.rdmaraw.ffi.EventFd;
import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.testsuite.sim.ImpairedLine;
import io.rdmaraw.testsuite.sim.Impairment;

/**
 * A path with impairments between two interfaces, in real time: what the kernel's netem would do, for kernels without
 * it. A thread of its own takes whole Ethernet frames from either interface and puts them out at the other, at the time
 * that the {@link ImpairedLine} of their direction gives them. The n-th frame of a direction meets the same fate in
 * every run with the same seed. ARP, neighbour discovery and multicast pass unharmed.
 *
 * <p>The interfaces should have no addresses, and their offloads must be off: the kernel would otherwise hand over
 * segments longer than {@link #FRAME_BYTES}.
 */
public final class LinkEmulator implements AutoCloseable {
    /** The longest frame. */
    public static final int FRAME_BYTES = 2048;
    private static final int PLACES = 1 << 16;
    private static final long PRCTL = Libc.address("prctl");
    private static final int PR_SET_TIMERSLACK = 29;
    private static final long SETPRIORITY = Libc.address("setpriority");
    private static final int NICE = -19;
    private static final long TIMER_SLACK_NANOS = 1000;
    /** Waiting for less costs more than it spares. */
    private static final long SHORTEST_WAIT_NANOS = 20_000;

    private final PacketPort left;
    private final PacketPort right;
    private final FramePlaces places = new FramePlaces(PLACES);
    private final LinkEmulatorDirection toRight;
    private final LinkEmulatorDirection toLeft;
    private final EventFd stop = new EventFd();
    private final Thread thread;
    private final Object countersLock = new Object();
    private LinkEmulatorCounters[] counters;
    private boolean wanted;
    private boolean ended;
    private boolean closed;
    private Throwable failure;

    private LinkEmulator(PacketPort left, PacketPort right, Impairment toRight, Impairment toLeft, long seed) {
        this.left = left;
        this.right = right;
        this.toRight = new LinkEmulatorDirection(left, right, places, new ImpairedLine(toRight, seed));
        this.toLeft = new LinkEmulatorDirection(right, left, places, new ImpairedLine(toLeft, ~seed));
        thread = Thread.ofPlatform().daemon().name("link emulator").unstarted(this::run);
    }

    /** Joins two ends. */
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
        punctual();
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

    /** Has the calling thread woken early and before others, as the kernel's own network threads are. */
    public static void punctual() {
        NativeCall.intValue(PRCTL, PR_SET_TIMERSLACK, TIMER_SLACK_NANOS, 0, 0);
        NativeCall.intValue(SETPRIORITY, 0, 0, NICE);
    }

    /** Moves what has come and what is due, or else waits for more. */
    private void turn(FdWaiter waiter, FdWaiter onlyStop) {
        int work = toRight.receive() + toLeft.receive();
        long now = System.nanoTime();
        work += toRight.send(now) + toLeft.send(now);
        long next = Math.min(toRight.nextNanos(), toLeft.nextNanos());
        if (work > 0 || next <= now || next - now < SHORTEST_WAIT_NANOS) {
            Thread.onSpinWait();
            return;
        }
        // With every place taken the sockets stay readable, and only time makes room.
        FdWaiter on = places.isEmpty() ? onlyStop : waiter;
        if ((on.await(next == Long.MAX_VALUE ? -1 : next - now) & 1) != 0) {
            stop.drain();
        }
    }

    /** Between two turns; returns whether the link emulator is to stop. */
    private boolean answerCounters(boolean last) {
        synchronized (countersLock) {
            if (wanted || last) {
                counters = new LinkEmulatorCounters[] {toRight.counters(), toLeft.counters()};
                wanted = false;
                ended |= last;
                countersLock.notifyAll();
            }
            return ended;
        }
    }

    /** What happened from the first interface to the second so far; still there after {@link #close}. */
    public LinkEmulatorCounters toRight() {
        return read()[0];
    }

    /** What happened from the second interface to the first so far; still there after {@link #close}. */
    public LinkEmulatorCounters toLeft() {
        return read()[1];
    }

    private LinkEmulatorCounters[] read() {
        synchronized (countersLock) {
            wanted = !ended;
            if (wanted) {
                stop.signal();
            }
            try {
                while (wanted) {
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

    /** Stops; what is under way is lost. */
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
        places.close();
    }
}
