package io.rdmaraw.channel;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Keeps what a class logs at WARN. */
final class WarningsOf extends Handler implements AutoCloseable {
    /** Kept here: the reference of the log manager is weak. */
    private final Logger logger;
    private final List<String> messages = new CopyOnWriteArrayList<>();

    WarningsOf(Class<?> type) {
        logger = Logger.getLogger(type.getName());
        logger.addHandler(this);
    }

    List<String> messages() {
        return messages;
    }

    @Override
    public void publish(LogRecord entry) {
        if (entry.getLevel() == Level.WARNING) {
            messages.add(entry.getMessage());
        }
    }

    @Override
    public void flush() {
        // Nothing is held back.
    }

    @Override
    public void close() {
        logger.removeHandler(this);
    }
}
