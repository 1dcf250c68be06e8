package io.rdmaraw.loop;

import io.rdmaraw.ffi.Epoll;

import java.util.Arrays;

/**
 * Descriptors that a loop serves in addition to its queues: kernel sockets behind channels. An epoll instance,
 * created with the first descriptor, reports which are ready. Used on the loop's thread only.
 */
public final class LoopDescriptors implements AutoCloseable {
    private static final int MAX_EVENTS = 64;
    static final int NO_FD = -1;

    /** Handles events of a descriptor. */
    public interface Handler {
        /**
         * Called while the descriptor is readable or has an error (level-triggered), and while it is writable if that
         * was requested. A descriptor of {@link #addEdgeTriggered} calls it once for each change.
         */
        void onReady();
    }

    private final Runnable onChange;
    private Epoll epoll;
    /** Handlers by the index stored in epoll. */
    private Handler[] handlers = new Handler[4];
    private int count;

    /**
     * @param onChange called when {@link #fd()} has changed
     */
    public LoopDescriptors(Runnable onChange) {
        this.onChange = onChange;
    }

    /** Returns a descriptor that is readable when one of the descriptors is ready, or -1 if none was ever added. */
    public int fd() {
        return epoll == null ? NO_FD : epoll.fd();
    }

    public boolean isEmpty() {
        return count == 0;
    }

    public void add(int fd, Handler handler) {
        addAndReturnIndex(fd, handler);
    }

    /** Adds a descriptor. Its handler is called once for each event: readable, writable, error or end of stream. */
    void addEdgeTriggered(int fd, Handler handler) {
        int index = addAndReturnIndex(fd, handler);
        epoll.change(fd, Epoll.EPOLLIN | Epoll.EPOLLOUT | Epoll.EPOLLRDHUP | Epoll.EPOLLET, index);
    }

    private int addAndReturnIndex(int fd, Handler handler) {
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
        return index;
    }

    /**
     * Sets whether a handler is also called while its descriptor is writable. Initially it is not.
     */
    public void watchWrites(int fd, Handler handler, boolean wanted) {
        int index = Arrays.asList(handlers).indexOf(handler);
        if (index >= 0) {
            epoll.change(fd, wanted ? Epoll.EPOLLIN | Epoll.EPOLLOUT : Epoll.EPOLLIN, index);
        }
    }

    /** Stops serving a descriptor. Must be called before the descriptor is closed. */
    public void remove(int fd, Handler handler) {
        int index = Arrays.asList(handlers).indexOf(handler);
        if (index >= 0) {
            handlers[index] = null;
            count--;
            epoll.remove(fd);
        }
    }

    /** Calls the handlers of ready descriptors and returns the number of ready descriptors. Does not block. */
    public int poll() {
        if (count == 0) {
            return 0;
        }
        int ready = epoll.poll();
        for (int i = 0; i < ready; i++) {
            // An earlier handler may have removed this one.
            Handler handler = handlers[epoll.data(i)];
            if (handler != null) {
                handler.onReady();
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
