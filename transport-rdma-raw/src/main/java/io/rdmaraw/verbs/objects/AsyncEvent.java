package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.VerbsLayouts.AsyncEventLayout;
import java.util.Map;

/**
 * An asynchronous event reported by a device ({@code struct ibv_async_event}).
 *
 * @param type         the event type
 * @param rawType      the value in {@code enum ibv_event_type}; identifies types that {@link AsyncEventType}
 *                     does not contain
 * @param port         the port number for port events, otherwise 0
 * @param sourceOrNull the affected object for object events; null for other events, and if this process has
 *                     closed the object
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
