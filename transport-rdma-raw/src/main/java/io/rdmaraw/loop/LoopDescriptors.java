package io.rdmaraw.loop;

import io.rdmaraw.ffi.Epoll;

import java.util.Arrays;

/**
 * The descriptors that a loop serves itself, beside its queues: the kernel sockets behind channels. An epoll
 * instance, made with the first of them, tells which are ready. For the loop's thread.
 */
public final class LoopDescriptors implements AutoCloseable {
    private static final int MAX_EVENTS = 64;
    private static final int NO_FD = -1;

    /** The owner of a descriptor. */
    public interface Handler {
        /** The descriptor is readable, or has an error; called again until that is over (level triggered). */
        void ready();
    }

    private final Runnable onChange;
    private Epoll epoll;
    /** Owners by the number that epoll carries. */
    private Handler[] handlers = new Handler[4];
    private int count;

    /** @param onChange called when {@link #fd()} has changed */
    public LoopDescriptors(Runnable onChange) {
        this.onChange = onChange;
    }

    /** Returns the descriptor that is readable when one of them is, or -1 as long as there was none. */
    public int fd() {
        return epoll == null ? NO_FD : epoll.fd();
    }

    public boolean isEmpty() {
        return count == 0;
    }

    public void add(int fd, Handler handler) {
        if (epoll == null) {
            epoll = new Epoll(MAX_EVENTS);
            onChange.run();
        }
        int index = Arrays.asList(handlers).indexOf(null);
        if (index < 0) {
            index = handlers.length;
            handlers = Arrays.copyOf(handlers, 2 * index);
        }
        epoll.add(fd, index);
        handlers[index] = handler;
        count++;
    }

    /** Stops serving the descriptor; to be called before it is closed. */
    public void remove(int fd, Handler handler) {
        int index = Arrays.asList(handlers).indexOf(handler);
        if (index >= 0) {
            handlers[index] = null;
            count--;
            epoll.remove(fd);
        }
    }

    /** Serves what is ready; returns how many descriptors were. */
    public int poll() {
        if (count == 0) {
            return 0;
        }
        int ready = epoll.poll();
        for (int i = 0; i < ready; i++) {
            // An earlier handler may have removed this one.
            Handler handler = handlers[epoll.data(i)];
            if (handler != null) {
                handler.ready();
            }
        }
        return ready;
    }

    @Override
    public void close() {
        if (epoll != null) {
            epoll.close();
        }
    }
}
