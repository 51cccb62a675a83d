"""The texts that were written by hand for this purpose, by language or by what is odd about them; no quotations."""

from __future__ import annotations

HAND_WRITTEN = {
    "en": [
        "The harbour master closed the east gate before the storm arrived.",
        "how do I reset my password",
        "Invoices are due within thirty days; after that a fee of 2 % is charged every month.",
        "Bread needs flour, water, salt and time.",
        "It wasn't the server's fault: the client's clock was wrong by twenty-three minutes.",
        "Photosynthesis turns light, water and carbon dioxide into sugar and oxygen.",
        "On the first Saturday of May the boats go back into the water. The crane comes at seven, whoever is "
        "late waits until the afternoon, and nobody walks under a hanging hull, not even to fetch a dog. Last "
        "year we lifted thirty-nine boats in nine hours; the fortieth turned out to belong to another club.",
        "When an index is asked for a word that it doesn't hold, it can say so at once. When it is asked for a "
        "meaning, there is always a nearest neighbour, however far away it lives; that is why a search by "
        "meaning needs a floor below which it would rather return nothing at all.",
        "Grandmother's clock loses four minutes a day. We've stopped correcting it: by Sunday lunch is half an "
        "hour late, and on Monday somebody winds it and the week starts over.",
    ],
    "de": [
        "Die Bücherei öffnet am Dienstag erst um zehn Uhr, weil die Straße gesperrt ist.",
        "Wie lange ist der Reisepass gültig?",
        "Übermäßige Größe führt zu Verdruß; Äpfel, Öl und Grütze gehören in die Küche.",
        "Donaudampfschifffahrtsgesellschaftskapitän",
        "Im Herbst holen wir die Boote aus dem Wasser. Zuerst werden die Masten gelegt, dann fährt der Kran vor, "
        "und am Abend steht alles in der Halle, außer dem einen Kahn, dessen Eigentümer nicht ans Telefon geht. "
        "Die Liegeplatzgebühr für den Winter beträgt hundertzwanzig Euro und ist bis zum dreißigsten September "
        "zu überweisen.",
        "Der Schlüssel zum Heizungskeller hängt neben der Tür. Wer ihn mitnimmt, möge ihn bitte auch zurückbringen.",
    ],
    "fr": [
        "L'été dernier, nous avons goûté des crêpes à la crème près du château.",
        "Où se trouve la bibliothèque la plus proche ?",
        "Ça n'a pas marché : le cœur du problème était ailleurs, naïvement oublié.",
        "Le bateau du voisin est resté tout l'hiver sous sa bâche verte. Au printemps, une famille de merles y "
        "avait fait son nid ; on a donc attendu jusqu'à la fin du mois de juin pour le remettre à l'eau, et "
        "personne ne s'en est plaint.",
    ],
    "es": [
        "El niño preguntó cuándo llegaría el avión de la mañana.",
        "¿Cómo se configura la copia de seguridad automática?",
        "Cada jueves mi tía compra naranjas en el mercado del puerto y las reparte entre los vecinos; dice que "
        "así nadie olvida su cumpleaños, aunque ella misma ya no recuerda en qué año nació.",
    ],
    "it": ["La nonna ha lasciato la bicicletta sotto il portico, perché più tardi pioverà.", "Dov'è la città vecchia?"],
    "pt": ["A canção começou às três da manhã e ninguém conseguiu dormir.", "Não há avaliações para esta opção."],
    "nl": ["De fietsenmaker is op maandag gesloten, maar zijn zoon repareert wél lekke banden."],
    "sv": ["Båten låg förtöjd vid bryggan över vintern, täckt av snö och måsspår."],
    "fi": ["Työpöydällä on lämmin kahvikuppi ja keskeneräinen käännös."],
    "hu": ["A könyvtár előtti padon ült egy öregúr, és a galambokat etette."],
    "ro": ["Știți unde se află gara? Trenul spre mare pleacă în câteva minute."],
    "pl": ["Łódź płynęła wśród mgły, aż ktoś na brzegu zapalił światło.", "Gdzie mogę kupić bilet na pociąg do Łodzi?"],
    "tr": [
        "İstanbul'da yağmur yağıyordu, ama ışıklar hâlâ yanıyordu.",
        "Şifremi nasıl değiştirebilirim?",
        "IŞIK, İĞNE, ılık, iğde: DİYARBAKIR'DAN IĞDIR'A giden otobüs gecikti.",
        "Komşumuz her sabah balkonundaki çiçekleri sular, sonra kahvesini içip gazetesini okur. Dün çiçeklerden "
        "biri açmış; bütün apartmana haber verdi.",
    ],
    "vi": [
        "Tiếng Việt có nhiều dấu thanh và chữ cái đặc biệt.",
        "Làm thế nào để sao lưu dữ liệu?",
        "Sáng nay trời mưa to, đường ngập nước, nên chuyến phà đầu tiên khởi hành muộn hơn một giờ.",
    ],
    "cs": ["Řidič přívozu čekal, až se mlha nad řekou zvedne, a mezitím loupal třešně."],
    "ru": [
        "Поезд отправляется с третьей платформы в семь часов вечера.",
        "Как восстановить удалённый файл из резервной копии?",
        "Ёлка стояла в углу, и всё ещё пахла лесом.",
        "Сторож лодочной станции ведёт дневник с тысяча девятьсот девяносто первого года. Каждый день он "
        "записывает уровень воды, направление ветра и имя первого гостя; если никто не пришёл, он пишет своё "
        "собственное имя.",
    ],
    "uk": ["Її ґанок виходив на тихий сад, де росли вишні та яблуні."],
    "el": [
        "Η βιβλιοθήκη είναι κλειστή την Κυριακή και τις αργίες.",
        "Πώς μπορώ να αλλάξω τον κωδικό μου;",
        "ΟΔΥΣΣΕΥΣ ΚΑΙ ΠΗΝΕΛΟΠΗ ΕΠΕΣΤΡΕΨΑΝ ΣΤΗΝ ΙΘΑΚΗ",
        "Ο καπετάνιος της μικρής βάρκας έχει έναν σκύλο, που φυλάει το λιμάνι όλες τις νύχτες· οι ψαράδες τού "
        "δίνουν το πρωί ό,τι περίσσεψε από τα δίχτυα τους.",
    ],
    "he": [
        "הספרייה נפתחת בשעה תשע בבוקר בימי חול.",
        "שָׁלוֹם עֲלֵיכֶם, מַה שְׁלוֹמְךָ הַיּוֹם?",
        "הסירה הקטנה חזרה לנמל לפני הסערה, והדייגים קשרו אותה היטב אל הרציף.",
    ],
    "ar": [
        "تفتح المكتبة أبوابها في الساعة التاسعة صباحًا كل يوم.",
        "كيف يمكنني استعادة كلمة المرور؟",
        "ذَهَبَ الوَلَدُ إِلَى المَدْرَسَةِ مَاشِيًا.",
        "عاد القارب الصغير إلى الميناء قبل العاصفة، وربطه الصيادون جيدًا، ثم جلسوا يشربون الشاي ويعدّون ما بقي من السمك.",
    ],
    "fa": ["کتاب‌های تازه را می‌توان از کتابخانه امانت گرفت."],
    "ur": ["بارش کے بعد بچے گلی میں کاغذ کی کشتیاں چلا رہے تھے۔"],
    "hi": [
        "पुस्तकालय रविवार को बंद रहता है, लेकिन शनिवार को खुला है।",
        "मैं अपना पासवर्ड कैसे बदल सकता हूँ?",
        "नदी के किनारे बच्चे पतंग उड़ा रहे थे।",
        "हर सर्दी में नाव को पानी से बाहर निकालकर रंगा जाता है। इस साल रंग महँगा था, इसलिए हमने केवल ऊपर का "
        "हिस्सा रंगा और बाकी काम अगले साल के लिए छोड़ दिया।",
    ],
    "mr": ["आजी रोज सकाळी अंगणात रांगोळी काढते आणि मांजरीला दूध देते."],
    "bn": [
        "নদীর ধারে একটি পুরোনো বটগাছ আছে।",
        "আমি কীভাবে মুছে ফেলা ফাইল ফিরে পাব?",
        "বর্ষাকালে গ্রামের রাস্তা ডুবে যায়, তখন সবাই নৌকায় করে হাটে যায়।",
    ],
    "ta": [
        "நூலகம் ஞாயிற்றுக்கிழமை மூடப்பட்டிருக்கும்.",
        "கடவுச்சொல்லை எப்படி மாற்றுவது?",
        "மழை நின்ற பிறகு குழந்தைகள் தெருவில் காகிதப் படகுகளை விட்டார்கள்.",
    ],
    "te": ["వర్షం ఆగిన తర్వాత పిల్లలు బయట ఆడుకున్నారు."],
    "th": [
        "ห้องสมุดปิดในวันอาทิตย์และวันหยุดราชการ",
        "ฉันจะเปลี่ยนรหัสผ่านได้อย่างไร",
        "เรือลำเล็กกลับเข้าท่าก่อนพายุมา ชาวประมงผูกเรือไว้แน่นแล้วนั่งดื่มชาด้วยกัน",
    ],
    "ja": [
        "図書館は日曜日に閉まっていますが、土曜日は開いています。",
        "パスワードを変更するにはどうすればいいですか？",
        "ﾊﾝｶｸｶﾀｶﾅとＦｕｌｌ－ｗｉｄｔｈの文字が混ざる。",
        "台風が来る前に、漁師たちは小さな船を岸に引き上げた。夜のあいだ風が強く、朝になると港にはだれのものでもない長靴が片方だけ残っていた。",
    ],
    "zh": [
        "图书馆星期天不开门，但是星期六开放。",
        "如何恢复已删除的文件？",
        "圖書館在星期日關閉，請於平日前來。",
        "每年秋天，俱乐部的人把船一条一条吊上岸。今年有一条旧船没有主人，大家商量以后，决定把它漆成红色，放在门口种花。",
    ],
    "ko": [
        "도서관은 일요일에 문을 닫지만 토요일에는 엽니다.",
        "비밀번호를 어떻게 변경합니까?",
        "태풍이 오기 전에 어부들은 작은 배를 뭍으로 끌어올렸고, 밤새 바람 소리를 들으며 차를 마셨다.",
    ],
    "ka": ["ბიბლიოთეკა კვირას დაკეტილია."],
    "hy": ["Գրադարանը փակ է կիրակի օրը։"],
    "am": ["ቤተ መጻሕፍቱ እሑድ ዝግ ነው።"],
    "emoji": [
        "Great job! 🎉🎉 See you at 5 👩‍💻🇩🇪",
        "🙂",
        "weather today: ☀️ → 🌧️ → ⛈️",
        "👍🏽 agreed, 1️⃣ boat 2️⃣ crane 🏗️ ❤️‍🔥",
    ],
    "forms": [
        "The ﬁrst oﬃce ﬂoor is Ｆｕｌｌ of ½ litre bottles, 10 m² each, № 7™.",
        "① first ② second ③ third … “quoted” ‘text’ — with dashes–and·dots",
        "zero\u200bwidth and soft\u00adhyphen and no\u00a0break",
        "Ｔｈｅ　ｂｅｒｔｈ　ｃｏｓｔｓ　￥１２，０００　（ｗｉｔｈ　ｔａｘ）！",
        "Straﬀe Seile, ﬂinke Fiſche, ĳsvrĳ, Ǆungla: eﬃcient ligatures",
    ],
    "address": [
        "https://example.org/docs/v2/install.html?lang=en&tab=linux#step-3",
        "Write to support+billing@mail.example.co.uk or call +49 (0)30 1234-567.",
        r"C:\Users\Anna\Documents\report_final(2).docx",
        "/etc/systemd/system/gnod.service.d/override.conf",
        "http://[2001:db8::1]:8080/%E5%9B%B3%E6%9B%B8?q=caf%C3%A9&page=2",
    ],
    "code": [
        "def add(a: int, b: int) -> int:\n    return a + b\n",
        "SELECT id, title FROM documents WHERE active = 1 ORDER BY mtime DESC LIMIT 20;",
        "for (let i = 0; i < xs.length; i++) { console.log(`${i}: ${xs[i]}`); }",
        'fn main() {\n\tlet v: Vec<u8> = vec![0; 1 << 10];\n\tprintln!("{}", v.len());\n}',
        "git rebase -i HEAD~3 && git push --force-with-lease origin feature/x_y",
        '{"name": "gnod", "version": [0, 3], "ok": true, "pi": 3.14159e0}',
        "$ tar -xzf archive.tar.gz | grep -v '^#' > /dev/null 2>&1",
    ],
    "table": [
        "| name | size |\n|---|---|\n| a | 1 |\n| b | 22 |",
        "# Title\n\n- one\n- two\n\n> quoted *text* with **stars**",
    ],
    "numbers": ["3.14159 2,718,281 0xDEADBEEF 1e-9 192.168.0.1 2024-02-29T23:59:60Z", "IV XII MCMXCIX 42nd 7/8"],
    "tiny": [".", "a", "I", "?!", "x y", "boats", "犬"],
    "mixed": [
        "Das Wort 図書館 bedeutet library, по-русски библиотека.",
        "Total: €1.234,50 / £99 / ¥5000 / ₹750 / ₿0.1",
        "snake_case CamelCase kebab-case dotted.name SCREAMING_CASE mixedIn2One",
    ],
}
