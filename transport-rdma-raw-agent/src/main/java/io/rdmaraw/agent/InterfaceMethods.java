package io.rdmaraw.agent;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.constant.ClassDesc;
import java.util.function.Function;

/** Looks up methods of interfaces without loading the interfaces. */
final class InterfaceMethods {
    /** Opens a class file by a name such as {@code java/lang/Object.class}; returns null if it does not exist. */
    private final Function<String, InputStream> resources;

    InterfaceMethods(Function<String, InputStream> resources) {
        this.resources = resources;
    }

    /** Returns whether an interface or one of its superinterfaces declares a method. */
    boolean has(ClassDesc type, String name, String descriptor) {
        return has(type.descriptorString().substring(1, type.descriptorString().length() - 1), name, descriptor);
    }

    private boolean has(String internalName, String name, String descriptor) {
        ClassModel model;
        try (InputStream in = resources.apply(internalName + ".class")) {
            if (in == null) {
                return false;
            }
            model = ClassFile.of().parse(in.readAllBytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return model.methods().stream().anyMatch(method -> method.methodName().equalsString(name)
                && method.methodType().equalsString(descriptor))
                || model.interfaces().stream().anyMatch(parent -> has(parent.asInternalName(), name, descriptor));
    }
}
