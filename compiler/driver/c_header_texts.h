#pragma once

namespace intent {

extern const char kIntentCallText[];  // compiler/driver/intent_call.h
extern const char kCPreludeText[];    // compiler/driver/c_prelude.h

}  // namespace intent
