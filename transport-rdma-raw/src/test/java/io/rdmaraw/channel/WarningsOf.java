package io.rdmaraw.channel;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Collects the warnings logged by a class. */
final class WarningsOf extends Handler implements AutoCloseable {
    /** A field keeps the logger, because the log manager refers to it weakly. */
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
        // Nothing is buffered.
    }

    @Override
    public void close() {
        logger.removeHandler(this);
    }
}
