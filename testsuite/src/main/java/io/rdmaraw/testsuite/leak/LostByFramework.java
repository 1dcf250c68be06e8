package io.rdmaraw.testsuite.leak;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a test class of a framework that leaks buffers on every transport. {@link LeakExtension} ignores leaked buffers
 * if the named handler was the last to receive them and nothing has accessed them since. An access by the transport
 * after it passed the buffer on would appear as a later record.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
public @interface LostByFramework {
    /** Returns the handler's name in the pipeline. */
    String handler();

    /** Returns where the framework leaks buffers, and how this was established. */
    String reason();
}
