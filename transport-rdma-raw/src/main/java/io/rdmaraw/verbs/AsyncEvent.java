package io.rdmaraw.verbs;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.AsyncEventLayout;
import java.util.Map;

/**
 * Something that happened to a device, a port or an object.
 *
 * @param type         what happened
 * @param rawType      the number of the type in {@code enum ibv_event_type}
 * @param port         the port, when it happened to a port, else 0
 * @param sourceOrNull the object, when it happened to one that this process still knows
 */
public record AsyncEvent(AsyncEventType type, int rawType, int port, VerbsObject sourceOrNull) {
    static AsyncEvent read(long event, Map<Long, VerbsObject> sources) {
        int raw = NativeMemory.getInt(event + AsyncEventLayout.EVENT_TYPE_OFFSET);
        AsyncEventType type = AsyncEventType.of(raw);
        return switch (type.element()) {
            case PORT -> new AsyncEvent(type, raw, NativeMemory.getInt(event + AsyncEventLayout.ELEMENT_OFFSET), null);
            case OBJECT -> new AsyncEvent(type, raw, 0,
                    sources.get(NativeMemory.getLong(event + AsyncEventLayout.ELEMENT_OFFSET)));
            case NONE -> new AsyncEvent(type, raw, 0, null);
        };
    }
}
